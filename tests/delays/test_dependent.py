"""Delays that depend on the played episode: by action, by state and by return."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.delays import DependentLaw, by_action, by_return, by_state, parse
from belated.delays.laws import NEVER

SHAPE = bl.Shape(3, 2, 4)


def episode(actions: Any = (0, 0, 0, 0), states: Any = (0,) * 5, rewards: Any = None) -> bl.Episode:
    return bl.Episode(9, states, actions, rewards)


def delay(law: Any, played: bl.Episode, shape: bl.Shape = SHAPE) -> int:
    return law.draw_for(played, shape=shape, seed=7)


def test_the_first_action_selects_the_law_unless_a_step_is_given() -> None:
    laws = {0: "constant:5", 1: "constant:6"}
    assert delay(by_action(laws), episode([1, 0, 0, 0])) == 6
    assert delay(by_action(laws, step=2), episode([1, 0, 0, 0])) == 5
    assert delay(by_action(laws, step=2), episode([0, 0, 1, 0])) == 6
    assert delay(by_action({1: "constant:6", "else": "constant:0"}), episode([0, 1, 1, 1])) == 0


def test_the_state_at_a_step_selects_the_law_up_to_the_last_one() -> None:
    laws = {0: "constant:5", 1: "constant:6", 2: "never:1:constant:0"}
    assert delay(by_state(1, laws), episode(states=[2, 1, 0, 0, 0])) == 6
    assert delay(by_state(4, laws), episode(states=[0, 1, 0, 0, 2])) == NEVER


def test_an_episode_that_ends_early_has_its_terminal_state_and_no_later_action() -> None:
    shape = bl.Shape(3, 2, 4, terminal=[2])
    ended = episode(actions=[1, 1], states=[0, 1, 2])
    assert delay(by_state(4, {2: "constant:8", "else": "constant:0"}), ended, shape) == 8
    law = by_action({0: "constant:5", 1: "constant:6", "else": "constant:7"}, step=3)
    assert delay(law, ended, shape) == 7


@pytest.mark.parametrize(("rewards", "group"), [(0.0, 0), (0.1, 0), (0.25, 1), (0.5, 2), (1.0, 2)])
def test_a_return_selects_the_law_from_its_edge_on(rewards: float, group: int) -> None:
    law = by_return([1, 2], ["constant:5", "constant:6", "never:1:constant:0"])
    assert delay(law, episode(rewards=[rewards] * 4)) == [5, 6, NEVER][group]


def test_a_return_needs_rewards() -> None:
    with pytest.raises(ValueError, match=r"^rewards of episode 9 must be given, .*got none\.$"):
        delay(by_return([1], ["constant:5", "constant:6"]), episode())


def test_a_dependent_law_has_no_mean_and_says_why_it_cannot_be_drawn_from() -> None:
    law = by_action({0: "constant:5", 1: "constant:5"})
    assert np.isnan(law.mean)
    for call in (
        lambda: law.quantile(0.5),
        lambda: law.at(np.array([0.5])),
        lambda: law.draw(seed=0, episodes=3),
    ):
        with pytest.raises(ValueError, match=r"does not depend on the played episode.*draw_for"):
            call()
    for theory in (
        lambda: bl.theory.psi(law.mean, 100, 0.1),
        lambda: bl.theory.theorem_1("ucrl2", SHAPE, episodes=100, mean_delay=law.mean, delta=0.1),
    ):
        with pytest.raises(ValueError, match=r"mean_delay must .* got nan"):
            theory()


NAMES = [
    "by_action:0=constant:5,1=geometric:100",
    "by_action:2:0=constant:5,else=never:0.1:geometric:100",
    "by_state:4:0=constant:5,1=poisson:3,2=uniform:2.5",
    "by_return:0=constant:5,0.5=geometric:100,2=never:1:constant:0",
    "weekly:3:by_action:0=constant:5,1=geometric:100",
    "never:0.5:by_return:0=constant:5,0.5=geometric:100",
    "by_action:0=(mixture:0.25=constant:0,0.75=geometric:9),1=(by_time:3=constant:2,1=outage)",
    "by_action:0=weekly:1/50:constant:5,1=constant:0",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_parse_to_laws_with_these_names(name: str) -> None:
    law = parse(name)
    assert isinstance(law, DependentLaw)
    assert (law.name, parse(law.name)) == (name, law)
    assert hash(parse(law.name)) == hash(law)


def test_never_and_weekly_apply_to_each_of_the_laws() -> None:
    law = parse("never:1:by_action:0=constant:5,1=constant:0")
    assert delay(law, episode()) == NEVER
    law = parse("weekly:7:by_action:0=constant:5,1=constant:6")
    assert [delay(law, episode([a] * 4)) for a in (0, 1)] == [5, 12]  # episode 9, at 14 or 21


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: by_action({}), r"laws must have a law for each action.*got \{\}\.$"),
        (lambda: by_action({-1: "constant:5"}), r"action of laws must be at least 0, got -1\.$"),
        (lambda: by_action({0: "constant:5"}, step=-1), r"step must be at least 0, got -1\.$"),
        (lambda: by_return([1, 1], ["constant:5"] * 3), r"increasing, got 1 after 1\.$"),
        (lambda: by_return([0], ["constant:5"] * 2), r"above 0 and increasing, got 0\.$"),
        (lambda: parse("by_return:0=constant:5,nan=constant:1"), r"increasing, got nan\.$"),
        (lambda: parse("by_return:0=constant:5,inf=constant:1"), r"increasing, got inf\.$"),
        (lambda: by_return([1], ["constant:5"]), r"must have 2 laws for 1 edges.*got 1\.$"),
        (
            lambda: by_action({0: by_state(0, {0: "constant:5"})}),
            r"law of action 0 must not depend on the played episode, got 'by_state:0:0=constant:5'",
        ),
        (lambda: parse("by_action:"), r"must have the form by_action:\[STEP:\]ACTION=DELAY,\.\.\."),
        (lambda: parse("by_state:0=constant:5"), r"must have the form by_state:STEP:STATE=DELAY"),
        (lambda: parse("by_action:0=constant:5,0=constant:6"), r"must be given once"),
        (lambda: parse("by_action:0=(constant:5"), r"parentheses of delay .* must be closed"),
        (lambda: parse("by_action:0=costant:5"), r"delay must be one of .*Did you mean 'constant"),
        (lambda: parse("by_action:x=constant:5"), r"is invalid: action .*integer, got 'x'\.$"),
        (lambda: parse("by_return:1=constant:5"), r"first return .* must be 0.*got 1\.$"),
        (lambda: parse("by_return:x=constant:5"), r"must have the form by_return:RETURN=DELAY"),
        (lambda: parse("never:x:constant:5"), r"form never:PROBABILITY:DELAY, such as never:0\.1"),
    ],
)
def test_invalid_laws_are_rejected_with_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("by_action:0=constant:5", r"got none for action 1; add '1=DELAY', or 'else=DELAY'"),
        ("by_action:0=constant:5,1=constant:5,2=constant:5", r"actions of .* in 0 \.\. 1, got 2;"),
        ("by_state:0:0=constant:5,2=constant:1", r"got none for state 1;"),
        ("by_state:9:else=constant:5", r"step of delay .* must lie in 0 \.\. 3 .*got 9\.$"),
        ("by_action:3:else=constant:5", r"step of delay .* must lie in 0 \.\. 2 .*got 3\.$"),
    ],
)
def test_a_law_that_does_not_fit_the_world_is_rejected_before_the_run(
    law: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bl.simulate("chain-3", base="ucrl2", updater="active", delay=law, episodes=10**12)


def test_an_action_that_is_forbidden_needs_no_law() -> None:
    law = by_action({1: "constant:5"})
    law.selector(bl.Shape(3, 2, 4, allowed={s: [1] for s in range(3)}))
    with pytest.raises(ValueError, match="got none for action 0"):
        law.selector(SHAPE)


def test_a_law_by_a_later_action_needs_one_for_episodes_that_end_before() -> None:
    shape = bl.Shape(3, 2, 4, terminal=[2])
    laws = {0: "constant:5", 1: "constant:6"}
    by_action(laws).selector(shape)
    with pytest.raises(ValueError, match="got none for episodes that end before its step; add"):
        by_action(laws, step=1).selector(shape)
