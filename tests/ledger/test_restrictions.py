"""Terminal states and allowed actions in problems and in their feedback."""

import json
from typing import Any

import numpy as np
import pytest

import ledger_samples as samples
from belated.episode import Policy
from belated.ledger import (
    AlreadyRecorded,
    Conflict,
    Corrected,
    Feedback,
    Invalid,
    Ledger,
    Opened,
    Part,
    ProblemSpec,
    Recorded,
)
from belated.ledger.content import ContentError, parse_content

GIVEN: dict[str, Any] = {
    "name": "shop",
    "states": ["looks", "thinks", "sold", "gone"],
    "actions": ["nothing", "coupon"],
    "horizon": 4,
    "rewards": None,
    "base": Part("ucrl2"),
    "updater": Part("active"),
    "episodes": 100,
    "terminal": ["gone", "sold"],
    "allowed": {"looks": ["nothing"], "gone": ["nothing"]},
}
SHOP = ProblemSpec(**GIVEN)
LATE = ProblemSpec(**{**GIVEN, "name": "late", "late": "rewards"})
SHORT = {
    "states": ["looks", "thinks", "sold"],
    "actions": ["nothing", "coupon"],
    "rewards": [0, 0.75],
}
PADDED = {
    "states": ["looks", "thinks", "sold", "sold", "sold"],
    "actions": ["nothing", "coupon", "nothing", "coupon"],
    "rewards": [0, 0.75, 0, None],
}
LONG = {
    "states": ["looks", "looks", "thinks", "looks", "thinks"],
    "actions": ["nothing", "nothing", "coupon", "nothing"],
    "rewards": [0, 0.25, 0, 0],
}
TRIMMED = {"states": [0, 1, 2], "actions": [0, 1], "rewards": [0.0, 0.75]}


def step(h: int, state: str, action: str, after: str, reward: float | None) -> dict[str, Any]:
    given = {"step": h, "state": state, "action": action, "next_state": after, "reward": reward}
    return {"steps": [given]}


FIRST = step(0, "looks", "nothing", "thinks", 0)
SECOND = step(1, "thinks", "coupon", "sold", 0.75)


def test_a_shape_has_the_terminal_states_and_the_allowed_actions() -> None:
    shape = SHOP.shape
    assert SHOP.terminal == ("sold", "gone")
    assert shape.terminal == (2, 3)
    assert shape.available[0].astype(int).tolist() == [[1, 0], [1, 1], [1, 0], [1, 0]]


def test_allowed_actions_may_differ_between_steps() -> None:
    allowed = [{}, {"thinks": ["coupon"]}, {}, {"looks": ["nothing"]}]
    shape = ProblemSpec(**{**GIVEN, "allowed": allowed}).shape
    assert shape.available[:, :2].astype(int).tolist() == [
        [[1, 1], [1, 1]],
        [[1, 1], [0, 1]],
        [[1, 1], [1, 1]],
        [[1, 0], [1, 1]],
    ]


@pytest.mark.parametrize("allowed", [GIVEN["allowed"], [{}, {"thinks": ["coupon"]}, {}, {}]])
def test_a_definition_with_restrictions_comes_back_as_it_was(allowed: Any) -> None:
    spec = ProblemSpec(**{**GIVEN, "allowed": allowed})
    again = ProblemSpec.of(json.loads(spec.text))
    assert again == spec
    assert again.shape == spec.shape
    assert spec.body["terminal"] == ["sold", "gone"]
    assert spec.body["allowed"] == allowed


def test_a_definition_without_restrictions_keeps_its_text() -> None:
    plain = {**GIVEN, "terminal": None, "allowed": None}
    assert ProblemSpec(**plain).text == ProblemSpec(**{**GIVEN, "terminal": [], "allowed": {}}).text
    assert not {"terminal", "allowed", "state_factors"} & set(ProblemSpec(**plain).body)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"terminal": ["sold", "lost"]}, "terminal[1] must be one of looks, thinks, sold, gone,"),
        ({"terminal": GIVEN["states"]}, "terminal must not contain all states; episodes start"),
        ({"allowed": {"thinks": []}}, "allowed['thinks'] must be a list of at least one action,"),
        ({"allowed": {"x": ["coupon"]}}, "A state in allowed must be one of looks, thinks, sold,"),
        ({"allowed": {"looks": ["run"]}}, "allowed['looks'][0] must be one of nothing, coupon,"),
        ({"allowed": [{}]}, "allowed must be an object, or a list of 4, one object for each step,"),
        ({"allowed": 3}, "allowed must be an object of lists of actions by state, got 3."),
        ({"reward_range": [-1, 1]}, "reward_range must begin at 0 in a problem with terminal"),
        ({"rewards": [[0, 0], [0, 0], [1, 0], [0, 0]]}, "rewards must be 0 in terminal states,"),
    ],
)
def test_restrictions_that_make_no_sense_are_refused(change: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        ProblemSpec(**{**GIVEN, **change})
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("content", [SHORT, PADDED])
def test_padding_after_a_terminal_state_is_dropped(content: Any) -> None:
    assert parse_content(content, SHOP).content() == TRIMMED


@pytest.mark.parametrize(
    ("content", "field", "sentence"),
    [
        (
            {**SHORT, "states": ["looks", "thinks", "looks"]},
            "states",
            "states must be a list of 5 or end in a terminal state, got 3 and the last state "
            "'looks'.",
        ),
        (
            {"states": ["gone"], "actions": [], "rewards": []},
            "states[0]",
            "states[0] must not be a terminal state, got 'gone'.",
        ),
        (
            {**SHORT, "actions": ["nothing"]},
            "states",
            "states must be a list of 2 items, got 3 items.",
        ),
        (
            {"states": ["sold", "sold"], "actions": ["nothing"], "rewards": [0]},
            "states[0]",
            "states[0] must not be a terminal state, got 'sold'.",
        ),
        (
            {**PADDED, "states": ["looks", "thinks", "sold", "sold", "gone"]},
            "states[4]",
            "states[4] must stay in 'sold', the terminal state that the episode has reached, got",
        ),
        (
            {**PADDED, "rewards": [0, 0.75, 0, 0.5]},
            "rewards[3]",
            "rewards[3] must be 0 after the episode has reached a terminal state, got 0.5.",
        ),
        (
            {**SHORT, "rewards": [0, 0.75, 0]},
            "rewards",
            "rewards must be a list of 2 items, got 3 items.",
        ),
        (
            {**SHORT, "actions": ["coupon", "coupon"]},
            "actions[0]",
            "actions[0] must be allowed in state 'looks' at step 0 (nothing), got 'coupon'.",
        ),
        (
            step(2, "looks", "coupon", "gone", 0),
            "steps[0].action",
            "steps[0].action must be allowed in state 'looks' at step 2 (nothing), got 'coupon'.",
        ),
        (
            step(2, "sold", "nothing", "looks", 0),
            "steps[0]",
            "steps[0] must stay in 'sold', the terminal state",
        ),
        (
            {"steps": SECOND["steps"] + step(2, "looks", "nothing", "looks", 0)["steps"]},
            "steps",
            "steps must end with step 1, which reaches a terminal state, got step 2.",
        ),
    ],
)
def test_feedback_that_breaks_a_restriction_gets_a_sentence(
    content: Any, field: str | None, sentence: str
) -> None:
    with pytest.raises(ContentError) as raised:
        parse_content(content, SHOP)
    assert str(raised.value).startswith(sentence)
    assert raised.value.field == field


def begin(ledger: Ledger, spec: ProblemSpec = SHOP) -> str:
    """Define the shop, publish a policy and open an episode; return its id."""
    defined = ledger.define(spec)
    assert isinstance(defined, Recorded)
    policy = Policy(np.zeros((4, 4), np.int32))
    assert isinstance(ledger.publish(defined.seq, policy, version=1), Recorded)
    [opened] = ledger.append([Opened(defined.seq, 1)])
    assert isinstance(opened, Recorded)
    assert opened.episode is not None
    return opened.episode.id


def send(ledger: Ledger, id: str, content: Any) -> Any:
    return samples.one(ledger, Feedback(id, content))


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (SHORT, [PADDED, SHORT, FIRST, SECOND, step(2, "sold", "nothing", "sold", 0)]),
        (SECOND, [SECOND, step(3, "sold", "nothing", "sold", None)]),
    ],
)
def test_what_is_recorded_may_be_repeated_with_or_without_padding(
    ledger: Ledger, first: Any, again: list[Any]
) -> None:
    id = begin(ledger)
    assert isinstance(send(ledger, id, first), Recorded)
    for content in again:
        assert isinstance(send(ledger, id, content), AlreadyRecorded), content
    assert ledger.faults() == []


def several(*contents: dict[str, Any]) -> dict[str, Any]:
    return {"steps": [each for content in contents for each in content["steps"]]}


SOLD_AGAIN = step(2, "sold", "nothing", "sold", 0)
GONE_AGAIN = step(2, "gone", "nothing", "gone", 0)
SECOND_ALONE = step(1, "looks", "nothing", "thinks", 0)


@pytest.mark.parametrize(
    ("content", "field", "reason"),
    [
        (
            several(SECOND_ALONE, FIRST),
            "steps",
            "Step 0 leads to 'thinks', but step 1 begins in 'looks'.",
        ),
        (
            several(SECOND, GONE_AGAIN),
            "steps[1].state",
            "The episode has ended in 'sold' after 2 steps, which contradicts step 2 in 'gone'.",
        ),
        (
            several(SECOND, step(1, "sold", "nothing", "sold", 0)),
            "steps[1].state",
            "The episode has ended in 'sold' after 2 steps, which contradicts step 1 in 'sold'.",
        ),
        (
            step(0, "sold", "nothing", "sold", 0),
            "steps[0].state",
            "steps[0].state must not be a terminal state, got 'sold', because no step that reaches "
            "it is recorded; send that step first, or in the same request.",
        ),
        (
            step(3, "gone", "nothing", "gone", 0),
            "steps[0].state",
            "steps[0].state must not be a terminal state, got 'gone', because no step that reaches "
            "it is recorded; send that step first, or in the same request.",
        ),
        (
            several(FIRST, SOLD_AGAIN),
            "steps[1].state",
            "steps[1].state must not be a terminal state, got 'sold', because no step that reaches "
            "it is recorded; send that step first, or in the same request.",
        ),
    ],
)
def test_steps_that_do_not_join_are_rejected(
    ledger: Ledger, content: Any, field: str, reason: str
) -> None:
    id = begin(ledger)
    assert send(ledger, id, content) == Invalid(reason, field)
    assert [kept.reason for kept in ledger.quarantine] == [reason]
    assert list(ledger.events(kinds=["feedback"])) == []


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (FIRST, SECOND_ALONE, "Step 0 leads to 'thinks', but step 1 begins in 'looks'; step 0 is"),
        (SECOND_ALONE, FIRST, "Step 0 leads to 'thinks', but step 1 begins in 'looks'; step 1 is"),
        (SECOND, GONE_AGAIN, "The episode has ended in 'sold' after 2 steps, which contradicts st"),
        (SHORT, GONE_AGAIN, "The episode has ended in 'sold' after 2 steps, which contradicts"),
        (SHORT, step(1, "sold", "nothing", "sold", 0), "The episode has ended in 'sold' after 2 "),
        (
            step(0, "looks", "nothing", "gone", 0),
            SOLD_AGAIN,
            "The episode has ended in 'gone' after 1 step, which contradicts step 2 in 'sold'; to ",
        ),
    ],
)
@pytest.mark.parametrize("together", [False, True])
def test_a_step_that_does_not_join_what_is_recorded_is_a_conflict(
    ledger: Ledger, first: Any, second: Any, reason: str, together: bool
) -> None:
    id = begin(ledger)
    events = [Feedback(id, first), Feedback(id, second)]
    outcomes = ledger.append(events) if together else [samples.one(ledger, one) for one in events]
    assert [type(one) for one in outcomes] == [Recorded, Conflict]
    assert outcomes[1].reason.startswith(reason)
    [kept] = ledger.quarantine
    assert (kept.outcome, kept.reason) == ("conflict", outcomes[1].reason)


def test_recorded_steps_that_do_not_join_stay_valid() -> None:
    old = several(FIRST, SECOND_ALONE)
    assert parse_content(old, SHOP).steps == [0, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (SECOND, step(2, "looks", "nothing", "looks", 0)),
        (step(2, "looks", "nothing", "looks", 0), SECOND),
        (SHORT, step(2, "looks", "nothing", "looks", 0)),
        (step(2, "looks", "nothing", "looks", 0), SHORT),
        (SECOND, step(2, "thinks", "nothing", "gone", 0)),
        (SHORT, LONG),
    ],
)
def test_a_step_after_the_end_is_a_conflict(ledger: Ledger, first: Any, second: Any) -> None:
    id = begin(ledger)
    assert isinstance(send(ledger, id, first), Recorded)
    assert isinstance(send(ledger, id, second), Conflict)


PATH = {"path": {"states": SHORT["states"], "actions": SHORT["actions"]}}


@pytest.mark.parametrize("late", [{"rewards": {"3": 0}}, {"rewards": {"2": 0.0, "3": 0}}])
@pytest.mark.parametrize("path_first", [True, False])
def test_rewards_of_0_after_the_end_are_padding(
    ledger: Ledger, late: Any, path_first: bool
) -> None:
    id = begin(ledger, LATE)
    for content in (PATH, late) if path_first else (late, PATH):
        assert isinstance(send(ledger, id, content), Recorded | AlreadyRecorded), content
    assert isinstance(send(ledger, id, {"rewards": {"0": 0, "1": 0.75}}), Recorded)
    assert isinstance(send(ledger, id, SHORT), AlreadyRecorded)
    assert isinstance(send(ledger, id, {"rewards": {"3": 1}}), Conflict)


@pytest.mark.parametrize("path_first", [True, False])
def test_a_reward_after_the_end_is_a_conflict(ledger: Ledger, path_first: bool) -> None:
    id = begin(ledger, LATE)
    contents = [PATH, {"rewards": {"3": 0.5}}]
    first, second = contents if path_first else reversed(contents)
    assert isinstance(send(ledger, id, first), Recorded)
    assert isinstance(send(ledger, id, second), Conflict)


def test_a_correction_may_end_early(ledger: Ledger) -> None:
    id = begin(ledger)
    assert isinstance(send(ledger, id, LONG), Recorded)
    assert isinstance(samples.one(ledger, Corrected(id, PADDED)), Recorded)
    assert isinstance(send(ledger, id, SHORT), AlreadyRecorded)
    assert isinstance(send(ledger, id, LONG), AlreadyRecorded)  # replaced


@pytest.mark.parametrize("corrected", [LONG, {**SHORT, "states": ["looks", "thinks", "gone"]}])
@pytest.mark.parametrize(
    ("first", "padding"),
    [
        (SHORT, SOLD_AGAIN),
        (several(FIRST, SECOND), several(SOLD_AGAIN, step(3, "sold", "nothing", "sold", None))),
        (several(FIRST, SECOND), several(FIRST, SOLD_AGAIN)),
        (PATH, {"rewards": {"2": 0, "3": 0}}),
    ],
)
def test_padding_is_a_repetition_after_a_correction_too(
    ledger: Ledger, first: Any, padding: Any, corrected: Any
) -> None:
    id = begin(ledger, LATE if first is PATH else SHOP)
    assert isinstance(send(ledger, id, first), Recorded)
    assert isinstance(send(ledger, id, padding), AlreadyRecorded)
    correction = {**corrected, "rewards": [0, 0.5, 0.5, 0.5][: len(corrected["actions"])]}
    assert isinstance(samples.one(ledger, Corrected(id, correction)), Recorded)
    assert isinstance(send(ledger, id, padding), AlreadyRecorded)
    assert ledger.faults() == []


@pytest.mark.parametrize(
    "padding",
    [GONE_AGAIN, step(1, "sold", "nothing", "sold", 0), several(SECOND_ALONE, SOLD_AGAIN)],
)
def test_padding_of_no_recorded_end_is_rejected_after_a_correction(
    ledger: Ledger, padding: Any
) -> None:
    id = begin(ledger)
    assert isinstance(send(ledger, id, several(FIRST, SECOND)), Recorded)
    assert isinstance(samples.one(ledger, Corrected(id, LONG)), Recorded)
    assert isinstance(send(ledger, id, padding), Invalid | Conflict)


def test_a_policy_with_a_forbidden_action_is_not_published(ledger: Ledger) -> None:
    defined = ledger.define(SHOP)
    assert isinstance(defined, Recorded)
    outcome = ledger.publish(defined.seq, Policy(np.ones((4, 4), np.int32)), version=1)
    assert isinstance(outcome, Invalid)
    assert "must be allowed in state 0 at step 0, where the allowed" in outcome.reason
