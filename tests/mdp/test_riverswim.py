import numpy as np
import pytest

import belated as bl
from belated.mdp.riverswim import LEFT, RIGHT, riverswim


def dense_optimum(p, r, horizon):
    """Return V*_1(s) of a homogeneous world for each state."""
    v = np.zeros(len(r))
    for _ in range(horizon):
        v = np.array([max(r[s, a] + p[s, a] @ v for a in range(2)) for s in range(len(r))])
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
def test_the_optimal_value_is_that_of_a_dense_dynamic_programme(horizon, value):
    world = riverswim(horizon=horizon)
    expected = dense_optimum(*six_states(), horizon)[0]
    assert bl.optimal_value(world) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(value, abs=1e-6)


def test_a_longer_river_has_the_same_current():
    world = riverswim(9, horizon=3)
    p = world.transition_table()[0]
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=0, atol=1e-12)
    for s in range(1, 8):
        assert np.flatnonzero(p[s, LEFT]).tolist() == [s - 1]
        np.testing.assert_array_equal(p[s, RIGHT, s - 1 : s + 2], [0.05, 0.6, 0.35])
    np.testing.assert_array_equal(p[8, RIGHT, 7:], [0.4, 0.6])
    assert np.flatnonzero(world.rewards[0]).tolist() == [LEFT, 2 * 8 + RIGHT]


def test_two_states_are_both_ends():
    p = riverswim(2).transition_table()[0]
    np.testing.assert_array_equal(p[:, RIGHT], [[0.4, 0.6], [0.4, 0.6]])
    np.testing.assert_array_equal(p[:, LEFT], [[1, 0], [1, 0]])


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
