"""Shape, Episode and Policy: what crosses every boundary."""

import math
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import belated as bl


def test_a_shape_is_three_whole_numbers() -> None:
    shape = bl.Shape(states=3, actions=2, horizon=5)
    assert shape.table == (5, 3, 2)
    assert shape == bl.Shape(np.int64(3), np.int32(2), 5)
    assert hash(shape) == hash(bl.Shape(3, 2, 5))
    assert type(bl.Shape(np.int64(3), 2, 5).states) is int
    with pytest.raises(FrozenInstanceError):
        shape.states = 4  # type: ignore[misc]


@pytest.mark.parametrize("name", ["states", "actions", "horizon"])
def test_a_shape_without_size_is_refused(name: str) -> None:
    sizes: dict[str, Any] = {"states": 3, "actions": 2, "horizon": 5}
    with pytest.raises(ValueError, match=rf"^{name} must be at least 1, got 0\.$"):
        bl.Shape(**{**sizes, name: 0})
    for wrong in (2.0, "2", None, True):
        with pytest.raises(TypeError, match=rf"^{name} must be an integer, got {wrong!r}\.$"):
            bl.Shape(**{**sizes, name: wrong})


def test_an_episode_keeps_copies_of_what_it_is_given() -> None:
    states, actions = np.array([0, 1, 1]), np.array([1, 0], np.int8)
    rewards = np.array([0.0, 0.5])
    episode = bl.Episode(np.int64(7), states, actions, rewards)
    states[:], actions[:], rewards[:] = 9, 9, 9
    assert (type(episode.id), episode.id) == (int, 7)
    assert episode.states.tolist() == [0, 1, 1]
    assert episode.actions.tolist() == [1, 0]
    assert episode.rewards is not None
    assert episode.rewards.tolist() == [0.0, 0.5]
    assert (episode.states.dtype, episode.actions.dtype) == (np.int64, np.int64)
    assert bl.Episode(0, [0, 0], [0]).rewards is None


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"id": -1}, ValueError, r"^Episode id must be at least 0, got -1\.$"),
        ({"id": "a"}, TypeError, r"^Episode id must be an integer, got 'a'\.$"),
        ({"states": [0.0, 1.0]}, TypeError, r"^states of episode 3 must be a flat sequence of int"),
        ({"states": [[0, 1]]}, TypeError, r"^states of episode 3 must be a flat sequence of int"),
        ({"actions": "right"}, TypeError, r"^actions of episode 3 must be a flat sequence of int"),
        ({"actions": [True]}, TypeError, r"^actions of episode 3 must be a flat sequence of int"),
        ({"states": [0, None]}, TypeError, r"^states of episode 3 must be a flat sequence of int"),
    ],
)
def test_what_cannot_be_an_episode_is_refused(given: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        bl.Episode(**{"id": 3, "states": [0, 1], "actions": [0], **given})


@pytest.mark.parametrize("rewards", ["high", [[0.5], [0.5, 1.0]]])
def test_rewards_that_are_no_numbers_are_refused(rewards: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^rewards of episode 3 .*\.$"):
        bl.Episode(3, [0, 1], [0], rewards)


def test_an_episode_is_checked_against_a_shape() -> None:
    shape = bl.Shape(2, 3, 2)
    bl.Episode(1, [0, 1, 1], [2, 0]).check(shape)
    bl.Episode(1, [0, 1, 1], [2, 0], [0, 1]).check(shape)
    for episode, message in (
        (bl.Episode(1, [0, 1], [2, 0]), r"^Episode 1 must have 3 states .*, got 2\.$"),
        (bl.Episode(1, [0, 1, 1], [2]), r"^Episode 1 must have 2 actions .*, got 1\.$"),
        (
            bl.Episode(1, [0, 2, 1], [2, 0]),
            r"^states\[1\] of episode 1 must .*, got 2\.$",
        ),
        (
            bl.Episode(1, [0, 1, 1], [3, 0]),
            r"^actions\[0\] of episode 1 must lie in 0 \.\. 2, got 3\.$",
        ),
        (bl.Episode(1, [0, 1, 1], [-1, 0]), r"^actions\[0\] of episode 1 must .*, got -1\.$"),
        (
            bl.Episode(1, [0, 1, 1], [2, 0], [0.5]),
            r"^rewards of episode 1 must have shape \(2,\), .*, got \(1,\)\.$",
        ),
        (
            bl.Episode(1, [0, 1, 1], [2, 0], [0, math.nan]),
            r"^rewards\[1\] of .* must .*, got nan; map rewards ",
        ),
        (
            bl.Episode(1, [0, 1, 1], [2, 0], [-0.1, 0]),
            r"^rewards\[0\] of .* must .*, got -0\.1; map rewards ",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            episode.check(shape)


ACTIONS = np.array([[0, 2], [1, 0]], np.int32)
MARKS = np.zeros((2, 2, 3), np.bool_)
MARKS[0, 1] = [True, False, True]


def test_a_policy_plays_its_action() -> None:
    policy = bl.Policy(ACTIONS)
    assert not policy.is_stochastic
    assert [policy.action(h, s, u=0.99) for h in (0, 1) for s in (0, 1)] == [0, 2, 1, 0]
    assert policy.explored_actions(0, 1).tolist() == []
    np.testing.assert_array_equal(policy.probabilities(3), np.eye(3)[ACTIONS])


def test_a_policy_draws_from_the_marked_actions_where_it_explores() -> None:
    policy = bl.Policy(ACTIONS, MARKS)
    assert policy.is_stochastic
    assert policy.explored_actions(0, 1).tolist() == [0, 2]
    assert [policy.action(0, 1, u) for u in (0.0, 0.49, 0.5, 1 - 2**-53)] == [0, 0, 2, 2]
    assert policy.action(1, 0, 0.99) == 1
    expected = np.eye(3)[ACTIONS]
    expected[0, 1] = [0.5, 0, 0.5]
    np.testing.assert_array_equal(policy.probabilities(3), expected)


def test_policies_are_equal_when_they_play_alike() -> None:
    assert bl.Policy(ACTIONS) == bl.Policy(ACTIONS.copy())
    assert bl.Policy(ACTIONS) == bl.Policy(ACTIONS, np.zeros_like(MARKS))
    assert bl.Policy(ACTIONS) != bl.Policy(1 - ACTIONS)
    assert bl.Policy(ACTIONS) != bl.Policy(ACTIONS, MARKS)
    assert bl.Policy(ACTIONS, MARKS) == bl.Policy(ACTIONS, MARKS.copy())
    assert bl.Policy(ACTIONS, MARKS) != bl.Policy(ACTIONS, ~MARKS)
    assert bl.Policy(ACTIONS) != ACTIONS.tolist()


RESTRICTED = bl.Shape(4, 2, 4, terminal=[2, 3], allowed={1: [0]})


@pytest.mark.parametrize(
    ("states", "actions", "rewards"),
    [
        ([0, 1, 2], [1, 0], [0, 1]),
        ([0, 1, 2, 2, 2], [1, 0, 1, 0], [0, 1, 0, 0]),
        ([0, 1, 2, 2], [1, 0, 1], None),
        ([0, 0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]),
    ],
)
def test_an_episode_may_end_in_a_terminal_state(states: Any, actions: Any, rewards: Any) -> None:
    episode = bl.Episode(1, states, actions, rewards)
    episode.check(RESTRICTED)
    assert episode.steps(RESTRICTED) == (states.index(2) if 2 in states else 4)


@pytest.mark.parametrize(
    ("states", "actions", "rewards", "message"),
    [
        ([0, 0, 0], [1, 1], None, r"^Episode 1 must have 4 actions or end in a terminal state "),
        ([0, 2, 3], [1, 1], None, r"^states\[2\] of episode 1 must be 2, the terminal state"),
        ([0, 2, 0, 0, 0], [1] * 4, None, r"^states\[2\] of episode 1 must be 2, the terminal "),
        ([0, 2, 2], [1, 1], [0, 0.5], r"^rewards\[1\] of episode 1 must be 0 after the terminal "),
        ([0, 2], [1], [0, 0], r"^rewards of episode 1 must have shape \(1,\)"),
        ([2], [], None, r"^states\[0\] of episode 1 must not be terminal, got 2\.$"),
        ([0, 1, 2], [0, 1], None, r"^actions\[1\] of episode 1 must be allowed in state 1 at "),
        ([0, 2, 2, 2, 2, 2], [0] * 5, None, r"^Episode 1 must have 5 states .*, got 6\.$"),
        ([0, 2, 2], [0], None, r"^Episode 1 must have 5 states .*, got 3\.$"),
    ],
)
def test_an_episode_that_ends_or_acts_elsewhere_is_refused(
    states: Any, actions: Any, rewards: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bl.Episode(1, states, np.array(actions, np.int64), rewards).check(RESTRICTED)


def test_a_step_is_checked_against_the_restrictions() -> None:
    bl.Step(1, 0, state=1, action=0, successor=2, reward=1).check(RESTRICTED)
    bl.Step(1, 1, state=2, action=1, successor=2, reward=0).check(RESTRICTED)
    for step, message in (
        (bl.Step(1, 0, 1, 1, 2), r"^action in a Step of episode 1 must be allowed in state 1 at "),
        (bl.Step(1, 1, 2, 0, 0), r"^Step 1 of episode 1 must stay in the terminal state 2 "),
        (bl.Step(1, 1, 2, 0, 2, 0.5), r"^Step 1 of episode 1 must stay in the terminal state 2 "),
    ):
        with pytest.raises(ValueError, match=message):
            step.check(RESTRICTED)


def test_a_policy_draws_from_the_allowed_actions() -> None:
    allowed = np.array([[[True, False, True], [False, True, False]]])
    policy = bl.Policy(np.zeros((1, 2), np.int32), np.zeros((1, 2, 3), np.bool_), 0.6, allowed)
    assert [policy.action(0, 0, u) for u in (0.0, 0.29, 0.31, 0.59, 0.61)] == [0, 0, 2, 2, 0]
    assert [policy.action(0, 1, u) for u in (0.0, 0.59)] == [1, 1]
    np.testing.assert_allclose(policy.probabilities(3), [[[0.7, 0, 0.3], [0.4, 0.6, 0]]])
    assert policy != bl.Policy(policy.actions, policy.explore, 0.6)
