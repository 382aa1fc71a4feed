import numpy as np
import pytest

import belated as bl
from belated.mdp.deep_sea import LEFT, RIGHT, deep_sea


def cells_optimum(size, *, noisy):
    """Return V* of the original: size x size cells as states, rewards not mapped."""
    cost, slip = 0.01 / size, noisy / size
    v = np.zeros((size + 1, size))
    for row in reversed(range(size)):
        for column in range(size):
            on = min(column + 1, size - 1)
            treasure = float(column == size - 1)
            left = v[row + 1, max(column - 1, 0)]
            right = treasure - cost + (1 - slip) * v[row + 1, on] + slip * v[row + 1, column]
            v[row, column] = max(left, right)
    return v[0, 0]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("size", [2, 5, 10, 30])
def test_the_optimal_value_is_the_mapped_one_of_the_original(size, noisy):
    expected = (cells_optimum(size, noisy=noisy) + 0.01) / (1 + 0.01 / size)
    assert bl.optimal_value(deep_sea(size, noisy=noisy)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [2, 5, 10, 30])
def test_the_optimal_value_has_a_closed_form(size):
    unit = 1 + 0.01 / size
    assert bl.optimal_value(deep_sea(size)) == pytest.approx(1 / unit, rel=1e-12)
    p = 1 - 1 / size
    noisy = (p ** (size - 1) + 0.01 * p**size) / unit
    assert bl.optimal_value(deep_sea(size, noisy=True)) == pytest.approx(noisy, rel=1e-12)


def test_one_wrong_step_loses_the_treasure():
    size = 6
    world = deep_sea(size)
    right = np.ones((size, size), np.int32)
    for step in range(size):
        wrong = right.copy()
        wrong[step] = LEFT
        assert bl.policy_value(world, wrong) < 0.01
    assert bl.policy_value(world, right) == bl.optimal_value(world)


def test_going_left_all_the_way_earns_what_right_would_have_cost():
    left = np.zeros((10, 10), np.int32)
    assert bl.policy_value(deep_sea(10), left) == pytest.approx(0.01 / 1.001, rel=1e-12)


def test_left_goes_left_and_right_goes_right_or_holds():
    for noisy, holds in ((False, 0.0), (True, 0.25)):
        p = deep_sea(4, noisy=noisy).transition_table()[0]
        np.testing.assert_array_equal(p[:, LEFT], np.eye(4)[[0, 0, 1, 2]])
        for s in range(3):
            expected = np.zeros(4)
            expected[s], expected[s + 1] = holds, 1 - holds
            np.testing.assert_array_equal(p[s, RIGHT], expected)
        np.testing.assert_array_equal(p[3, RIGHT], [0, 0, 0, 1])


def test_a_state_is_a_column_and_a_step_is_a_row():
    world = deep_sea(7)
    assert world.shape == bl.Shape(7, 2, 7)
    assert world.homogeneous
    np.testing.assert_array_equal(world.start, np.eye(7)[0])


def test_only_the_noisy_sea_pays_coins():
    assert deep_sea(4).reward_draws == "deterministic"
    assert deep_sea(4, noisy=True).reward_draws == "bernoulli"
    np.testing.assert_array_equal(deep_sea(4).rewards, deep_sea(4, noisy=True).rewards)


def test_a_sea_of_one_cell_raises_an_error():
    with pytest.raises(ValueError, match=r"^size must be at least 2, got 1\.$"):
        deep_sea(1)
