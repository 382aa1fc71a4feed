"""Worlds of the literature: transitions, rewards and optimal values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.mdp.classics import LEFT, RIGHT, chain, deep_sea, garnet, riverswim


@pytest.mark.parametrize("S", [2, 5, 30])
def test_left_always_goes_back_and_right_goes_on_unless_it_slips(S):
    p = chain(S).transition_table()
    for s in range(S):
        expected = np.zeros((2, S))
        expected[LEFT, max(s - 1, 0)] = 1
        expected[RIGHT, max(s - 1, 0)] = 1 / S
        expected[RIGHT, min(s + 1, S - 1)] = 1 - 1 / S
        np.testing.assert_array_equal(p[:, s], np.broadcast_to(expected, (S, 2, S)))


def test_the_last_state_alone_pays_for_either_action_or_for_right_only():
    for reward_on, last in (("state", [1, 1]), ("state_right", [0, 1])):
        rewards = chain(4, reward_on=reward_on).reward_table()
        assert (rewards[:, :3] == 0).all()
        np.testing.assert_array_equal(rewards[:, 3], [last] * 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"S": 1}, r"^S must be at least 2, got 1\.$"),
        ({"S": 5, "horizon": 0}, r"^horizon must be at least 1, got 0\.$"),
        (
            {"S": 5, "reward_on": "arrival"},
            r"^reward_on must be 'state' or 'state_right', got 'arrival'\.$",
        ),
    ],
)
def test_an_impossible_chain_raises_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        chain(**arguments)


def dense_optimum(p, r, horizon):
    """Return V*_1(s) of a homogeneous world for each state."""
    v = np.zeros(len(r))
    for _ in range(horizon):
        v = (r + p @ v).max(axis=1)
    return v


def six_states():
    """Return the published transitions and rewards."""
    left = np.eye(6)[[0, 0, 1, 2, 3, 4]]
    right = np.array(
        [
            [0.40, 0.60, 0.00, 0.00, 0.00, 0.00],
            [0.05, 0.60, 0.35, 0.00, 0.00, 0.00],
            [0.00, 0.05, 0.60, 0.35, 0.00, 0.00],
            [0.00, 0.00, 0.05, 0.60, 0.35, 0.00],
            [0.00, 0.00, 0.00, 0.05, 0.60, 0.35],
            [0.00, 0.00, 0.00, 0.00, 0.40, 0.60],
        ]
    )
    rewards = np.zeros((6, 2))
    rewards[0, LEFT], rewards[5, RIGHT] = 0.005, 1
    return np.stack([left, right], axis=1), rewards


def test_six_states_are_the_published_ones():
    p, r = six_states()
    world = riverswim()
    assert world.shape == bl.Shape(6, 2, 20)
    assert world.homogeneous
    np.testing.assert_array_equal(world.transition_table(), np.broadcast_to(p, (20, 6, 2, 6)))
    np.testing.assert_array_equal(world.reward_table(), np.broadcast_to(r, (20, 6, 2)))
    np.testing.assert_array_equal(world.start, [1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("horizon", "value"), [(1, 0.005), (5, 0.025), (20, 3.397264), (100, 37.502947)]
)
def test_the_optimal_value_of_a_river_is_that_of_a_dense_dynamic_programme(horizon, value):
    world = riverswim(horizon=horizon)
    expected = dense_optimum(*six_states(), horizon)[0]
    assert bl.optimal_value(world) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"states": 1}, r"^states must be at least 2, got 1\.$"),
        ({"horizon": 0}, r"^horizon must be at least 1, got 0\.$"),
    ],
)
def test_an_impossible_river_raises_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        riverswim(**arguments)


@pytest.mark.parametrize("size", [2, 5, 10, 30])
def test_the_optimal_value_has_a_closed_form(size):
    unit = 1 + 0.01 / size
    assert bl.optimal_value(deep_sea(size)) == pytest.approx(1 / unit, rel=1e-12)
    p = 1 - 1 / size
    noisy = (p ** (size - 1) + 0.01 * p**size) / unit
    assert bl.optimal_value(deep_sea(size, noisy=True)) == pytest.approx(noisy, rel=1e-12)


def test_left_goes_left_and_right_goes_right_or_holds():
    for noisy, holds in ((False, 0.0), (True, 0.25)):
        p = deep_sea(4, noisy=noisy).transition_table()[0]
        np.testing.assert_array_equal(p[:, LEFT], np.eye(4)[[0, 0, 1, 2]])
        for s in range(3):
            expected = np.zeros(4)
            expected[s], expected[s + 1] = holds, 1 - holds
            np.testing.assert_array_equal(p[s, RIGHT], expected)
        np.testing.assert_array_equal(p[3, RIGHT], [0, 0, 0, 1])


def test_only_the_noisy_sea_pays_coins():
    assert deep_sea(4).reward_draws == "deterministic"
    assert deep_sea(4, noisy=True).reward_draws == "bernoulli"
    np.testing.assert_array_equal(deep_sea(4).rewards, deep_sea(4, noisy=True).rewards)


def test_a_sea_of_one_cell_raises_an_error():
    with pytest.raises(ValueError, match=r"^size must be at least 2, got 1\.$"):
        deep_sea(1)


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
