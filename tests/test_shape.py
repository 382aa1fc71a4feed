"""Shape: sizes, terminal states and allowed actions."""

import pickle
from typing import Any

import numpy as np
import pytest

import belated as bl


def test_a_shape_without_restrictions_has_no_fixed_values() -> None:
    shape = bl.Shape(3, 2, 4)
    assert (shape.terminal, shape.allowed, shape.is_restricted) == ((), None, False)
    assert shape.fixed_values.size == 0
    assert shape.available.all()
    assert repr(shape) == "Shape(states=3, actions=2, horizon=4)"


def test_terminal_states_are_sorted_and_distinct() -> None:
    shape = bl.Shape(4, 2, 3, terminal=np.array([3, 1, 3]))
    assert shape.terminal == (1, 3)
    assert shape.is_terminal.tolist() == [False, True, False, True]
    assert repr(shape) == "Shape(states=4, actions=2, horizon=3, terminal=(1, 3))"


def test_a_terminal_state_has_one_action_of_value_zero() -> None:
    shape = bl.Shape(3, 2, 2, terminal=[1])
    assert shape.available[0].tolist() == [[True, True], [True, False], [True, True]]
    assert shape.playable[0].tolist() == [[True, True], [False, False], [True, True]]
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(shape.fixed_values, [[nan, nan, 0, -inf, nan, nan]] * 2)


def test_allowed_actions_are_given_by_state_or_as_a_mask() -> None:
    mask = np.array([[True, True, True], [False, True, True]])
    shape = bl.Shape(2, 3, 4, allowed=mask)
    assert shape == bl.Shape(2, 3, 4, allowed={1: [2, 1]})
    assert shape == bl.Shape(2, 3, 4, allowed=np.broadcast_to(mask, (4, 2, 3)))
    assert hash(shape) == hash(bl.Shape(2, 3, 4, allowed={1: [2, 1]}))
    assert shape == pickle.loads(pickle.dumps(shape))
    assert shape != bl.Shape(2, 3, 4)
    assert shape != bl.Shape(2, 3, 4, allowed={1: [2]})
    assert np.isneginf(shape.fixed_values[:, 3]).all()


def test_a_mask_that_forbids_nothing_is_no_restriction() -> None:
    assert bl.Shape(2, 2, 3, allowed={0: [0, 1]}) == bl.Shape(2, 2, 3)
    assert bl.Shape(2, 2, 3, terminal=[1], allowed={1: []}) == bl.Shape(2, 2, 3, terminal=[1])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"terminal": [3]}, ValueError, r"^A terminal state must lie in 0 \.\. 2, got 3\.$"),
        ({"terminal": [-1]}, ValueError, r"^A terminal state must lie in 0 \.\. 2, got -1\.$"),
        ({"terminal": ["sold"]}, TypeError, r"^A terminal state must be an integer, got 'sold'\.$"),
        ({"terminal": [0, 1, 2]}, ValueError, r"^At least one state must not be terminal, "),
        ({"allowed": {3: [0]}}, ValueError, r"^A state of allowed must lie in 0 \.\. 2, got 3\.$"),
        ({"allowed": {0: [2]}}, ValueError, r"^An allowed action of state 0 must lie in .*2\.$"),
        ({"allowed": {1: []}}, ValueError, r"^allowed must contain an action for state 1 at step"),
        ({"allowed": [[0, 1]]}, TypeError, r"^allowed must be a mask of True and False, or a "),
        ({"allowed": [[True]]}, ValueError, r"^allowed must have shape \(S, A\) = \(3, 2\) or "),
    ],
)
def test_impossible_restrictions_are_refused(given: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        bl.Shape(3, 2, 4, **given)


def test_the_message_on_an_empty_set_names_state_and_step() -> None:
    mask = np.ones((4, 3, 2), np.bool_)
    mask[2, 1] = False
    with pytest.raises(ValueError, match=r"for state 1 at step 2, got none; .*terminal=\[1\]\.$"):
        bl.Shape(3, 2, 4, allowed=mask)


def test_restrictions_are_given_once() -> None:
    shape = bl.Shape(3, 2, 4).restrict(terminal=[2])
    assert shape == bl.Shape(3, 2, 4, terminal=[2])
    assert shape.restrict() is shape
    with pytest.raises(ValueError, match=r"^terminal and allowed must be given once; "):
        shape.restrict(allowed={0: [1]})
