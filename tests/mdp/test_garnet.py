import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.mdp.garnet import garnet


def dense_optimum(p, r, horizon):
    """Return V*_1(s) of a homogeneous world for each state."""
    v = np.zeros(len(r))
    for _ in range(horizon):
        v = (r + p @ v).max(axis=1)
    return v


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**64 - 1))
def test_each_row_has_its_successors_and_sums_to_one(states, actions, branching, seed):
    branching = min(branching, states)
    world = garnet(states, actions, horizon=3, branching=branching, seed=seed)
    assert world.shape == bl.Shape(states, actions, 3)
    p = world.transition_table()[0]
    assert ((p > 0).sum(axis=-1) == branching).all()
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=0, atol=1e-12)
    assert ((world.rewards >= 0) & (world.rewards < 1)).all()


def test_a_seed_is_a_world_for_good():
    world = garnet(3, 2, horizon=4, branching=2, seed=7)
    assert world.succ.tolist() == [0, 1, 0, 1, 0, 2, 0, 1, 0, 1, 1, 2]
    first = [0.807751, 0.140895, 0.729226, 0.164436, 0.720282, 0.60331]
    np.testing.assert_allclose(world.prob[::2], first, rtol=0, atol=1e-6)
    rewards = [[0.92469, 0.05587], [0.34879, 0.707617], [0.894478, 0.393913]]
    np.testing.assert_allclose(world.rewards[0], rewards, rtol=0, atol=1e-6)


def test_another_seed_is_another_world():
    one, other = (garnet(9, 2, horizon=4, branching=3, seed=seed) for seed in (0, 1))
    assert (one.succ != other.succ).any()
    assert (one.prob != other.prob).any()
    assert (one.rewards != other.rewards).any()


def test_the_horizon_changes_nothing_but_the_horizon():
    short, long = (garnet(9, 2, horizon=horizon, branching=3) for horizon in (2, 20))
    np.testing.assert_array_equal(short.transition_table()[0], long.transition_table()[0])
    np.testing.assert_array_equal(short.rewards, long.rewards)


def test_every_state_follows_equally_often_and_the_cuts_are_uniform():
    world = garnet(40, 30, horizon=1, branching=4)
    follows = np.bincount(world.succ, minlength=40) / 1200
    deviation = np.sqrt(0.1 * 0.9 / 1200)
    assert (np.abs(follows - 0.1) < 4.5 * deviation).all()
    # A length between 3 uniform cuts is Beta(1, 3): mean 1/4, P(> 1/2) = 1/8.
    assert np.mean(world.prob > 0.5) == pytest.approx(1 / 8, abs=0.02)
    assert world.rewards.mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [((20, 3, 4), 16.091788), ((5, 2, 1), 19.331494), ((8, 4, 8), 17.979818)],
)
def test_the_optimal_value_is_that_of_a_dense_dynamic_programme(arguments, value):
    states, actions, branching = arguments
    world = garnet(states, actions, horizon=20, branching=branching)
    expected = dense_optimum(world.transition_table()[0], world.rewards[0], 20)[0]
    assert bl.optimal_value(world) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"states": 0}, r"^states must be at least 1, got 0\.$"),
        ({"branching": 0}, r"^branching must be at least 1, got 0\.$"),
        ({"branching": 5}, r"^branching must be at most the number of states, 4, got 5\.$"),
        ({"seed": -1}, r"^seed must lie in 0 \.\. 2\*\*64 - 1, got -1\.$"),
    ],
)
def test_an_impossible_garnet_raises_an_error(changes, message):
    with pytest.raises(ValueError, match=message):
        garnet(**{"states": 4, "actions": 2, "horizon": 3, "branching": 2, **changes})
