import numpy as np
import pytest
from hypothesis import given

import belated as bl
from belated.exact.values import optimal_actions, optimal_table
from worlds import worlds


@given(worlds())
def test_optimal_actions_are_those_with_the_largest_value(world):
    v = optimal_table(world)
    best = optimal_actions(world)
    q = world.reward_table() + np.einsum("hsay,hy->hsa", world.transition_table(), v[1:])
    assert (best == (q > v[:-1, :, None] - 1e-9)).all()
    assert best.any(axis=2).all()


@given(worlds())
def test_playing_optimal_actions_attains_the_optimal_value(world):
    actions = optimal_actions(world).argmax(axis=2)
    assert bl.policy_value(world, actions) == pytest.approx(bl.optimal_value(world), abs=1e-9)
