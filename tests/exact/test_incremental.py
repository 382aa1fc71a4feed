"""Values of a policy are computed again only where they depend on its actions."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.exact.incremental import world_arrays
from belated.exact.values import optimal_table, policy_table
from worlds import random_world, with_restrictions


def find_dependent(world: bl.MDP) -> Any:
    """Return the mask, of shape (H, S), of the cells whose value depends on the policy."""
    H, S, _ = world.shape.table
    return world_arrays(world, optimal_table(world)).depends.reshape(H, S)


def make_sparse_rewards(rng: np.random.Generator, *, restricted: bool) -> bl.MDP:
    """Return a world in which one state has a reward, at the last step only."""
    world = random_world(rng, states=4, actions=2, horizon=4, homogeneous=True)
    rewards = np.zeros((4, 4, 2))
    rewards[-1, rng.integers(4)] = 1
    world = bl.MDP.dense(world.transition_table(), rewards, start=world.start)
    return with_restrictions(world, rng) if restricted else world


def test_on_a_chain_only_states_that_can_reach_the_reward_in_time_depend_on_the_policy() -> None:
    H = S = 6
    steps_left = H - 1 - np.arange(H)[:, None]
    distance = S - 1 - np.arange(S)[None, :]
    expected = (distance <= steps_left) & (steps_left > 0)
    assert find_dependent(bl.chain(S)).tolist() == expected.tolist()


@pytest.mark.parametrize("restricted", [False, True])
def test_a_value_that_does_not_depend_on_the_policy_is_the_same_for_all(restricted: bool) -> None:
    rng = np.random.default_rng(0)
    constant = varying = 0
    for _ in range(20):
        world = make_sparse_rewards(rng, restricted=restricted)
        H = world.shape.horizon
        weights = world.shape.available * np.ones((H, 1, 1))
        tables = []
        for _ in range(30):
            draws = rng.random(weights.shape) * weights
            tables.append(policy_table(world, draws.argmax(2))[:H])
        differs = (np.array(tables) != tables[0]).any(0)
        dependent = find_dependent(world)
        assert not (differs & ~dependent).any()
        constant += np.count_nonzero(~dependent)
        varying += np.count_nonzero(differs)
    assert constant > 0
    assert varying > 0
