"""Exact values of worlds with terminal states and allowed actions."""

import itertools
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.exact.values import optimal_table, policy_table
from belated.mdp.play import play

P = np.array([[[0.5, 0.5, 0], [0, 0, 1]], [[0, 0, 1], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]]])
R = np.array([[0.1, 0.3], [0.4, 1.0], [0, 0]])


def a_world(**given: Any) -> bl.MDP:
    return bl.MDP.dense(P, R, horizon=4, **{"terminal": [2], "allowed": {1: [0]}, **given})


def test_the_value_of_a_terminal_state_is_zero() -> None:
    v = optimal_table(a_world())
    assert not v[:, 2].any()
    assert v[3].tolist() == [0.3, 0.4, 0]
    assert v[2, 0] == pytest.approx(0.1 + 0.5 * 0.3 + 0.5 * 0.4)


def test_optimal_values_are_those_of_the_best_allowed_policy() -> None:
    world = a_world(
        allowed=[[[True, True], [h % 2 == 0, h % 2 == 1], [True] * 2] for h in range(4)]
    )
    best = max(
        bl.policy_value(world, np.array([[a, h % 2, 0] for h, a in enumerate(first)]))
        for first in itertools.product((0, 1), repeat=4)
    )
    assert bl.optimal_value(world) == pytest.approx(best)
    optimal = bl.optimal_actions(world)
    assert not (optimal & ~world.shape.available).any()
    assert bl.policy_value(world, optimal.argmax(axis=2)) == pytest.approx(best)


def test_transitions_of_terminal_states_and_forbidden_actions_need_not_be_given() -> None:
    entries = [(0, 0, 1, 1.0), (0, 1, 2, 1.0), (1, 0, 2, 1.0)]
    shape = bl.Shape(3, 2, 4, terminal=[2], allowed={1: [0]})
    world = bl.MDP.sparse(shape, entries, R)
    assert world.shape == shape
    assert world.successors(0, 2, 1)[0].tolist() == [2]
    assert world.successors(0, 1, 1)[0].tolist() == [1]
    assert repr(world).startswith("MDP(states=3, actions=2, horizon=4, terminal=(2,), allowed=<4 ")


def test_transitions_of_a_terminal_state_are_ignored() -> None:
    p = P.copy()
    p[2] = [5.0, -1.0, 0.0]
    other = bl.MDP.dense(p, R, horizon=4, terminal=[2], allowed={1: [0]})
    np.testing.assert_array_equal(other.transition_table(), a_world().transition_table())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"terminal": [1, 2]}, r"^rewards must be 0 in terminal states, got 0\.4 at \[1, "),
        ({"start": 2}, r"^start must not be the terminal state 2, got 2\.$"),
        ({"start": [0.5, 0, 0.5]}, r"^start must not be the terminal state 2, got \["),
        ({"allowed": {1: []}}, r"^allowed must contain an action for state 1 at step 0"),
        ({"allowed": {0: [0]}, "terminal": ()}, r"^The probabilities of state 2, action 0 must "),
    ],
)
def test_a_contradictory_world_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        a_world(**given)


def test_a_policy_with_a_forbidden_action_is_refused() -> None:
    world, actions = a_world(), np.zeros((4, 3), np.int32)
    actions[:, 2] = 1  # in a terminal state the action is of no importance
    assert bl.policy_value(world, actions) > 0
    forbidden, none = np.where([0, 1, 0], 1, actions).astype(np.int32), np.zeros((4, 3, 2), bool)
    weights = np.full((4, 3, 2), 0.5)
    for policy in (forbidden, bl.Policy(actions, none, 0.1), bl.Policy(actions, ~none), weights):
        with pytest.raises(ValueError, match=r"^The policy's action must be allowed in state 1 at"):
            bl.policy_value(world, policy)


def test_a_random_action_is_drawn_from_the_allowed_ones() -> None:
    world, actions = a_world(), np.zeros((4, 3), np.int32)
    none = np.zeros((4, 3, 2), np.bool_)
    policy = bl.Policy(actions, none, 1.0, world.shape.available)
    weights = policy.probabilities(2)
    assert weights[0].tolist() == [[0.5, 0.5], [1, 0], [1, 0]]
    np.testing.assert_allclose(policy_table(world, policy), policy_table(world, weights))


def test_an_episode_ends_when_a_terminal_state_is_reached() -> None:
    world = a_world()
    policy = bl.Policy(np.zeros((4, 3), np.int32))
    episodes = [play(world, policy, seed=1, episode=k) for k in range(50)]
    lengths = {episode.actions.size for episode in episodes}
    assert {2, 3, 4} <= lengths
    for episode in episodes:
        episode.check(world.shape)
        assert 2 not in episode.states[:-1]
