import numpy as np
import pytest
from hypothesis import given

import belated as bl
from belated.exact.best import optimal_actions
from belated.exact.values import optimal_table
from worlds import worlds


@given(worlds())
def test_the_marked_actions_are_those_whose_value_is_the_best(world):
    v = optimal_table(world)
    best = optimal_actions(world)
    q = world.reward_table() + np.einsum("hsay,hy->hsa", world.transition_table(), v[1:])
    assert (best == (q > v[:-1, :, None] - 1e-9)).all()
    assert best.any(axis=2).all()


@given(worlds())
def test_playing_marked_actions_is_optimal(world):
    actions = optimal_actions(world).argmax(axis=2)
    assert bl.policy_value(world, actions) == pytest.approx(bl.optimal_value(world), abs=1e-9)
