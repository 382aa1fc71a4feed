"""Sums along paths, against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.delays import NEVER
from belated.episode import Shape
from belated.theory import visit_sums


@given(st.data())
def test_sums_are_those_of_the_definition(data: st.DataObject) -> None:
    H, S, A = data.draw(st.tuples(*(st.integers(1, 3) for _ in range(3))))
    K = data.draw(st.integers(0, 25))
    delays = data.draw(st.lists(st.integers(0, 9) | st.just(NEVER), min_size=K, max_size=K))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    states, actions = rng.integers(0, S, (K, H + 1)), rng.integers(0, A, (K, H))
    counts = [
        sum(
            (states[i, h], actions[i, h]) == (states[k, h], actions[k, h])
            for i in range(k)
            if i + delays[i] < k
        )
        for k in range(K)
        for h in range(H)
    ]
    found = visit_sums(Shape(S, A, H), states=states, actions=actions, delays=delays)
    assert found.root == pytest.approx(sum(max(1, n) ** -0.5 for n in counts))
    assert found.inverse == pytest.approx(sum(1 / max(1, n) for n in counts))


def test_the_last_state_may_be_left_out() -> None:
    shape = Shape(2, 1, 2)
    given_all = visit_sums(shape, states=[[0, 1, 0]], actions=[[0, 0]], delays=[0])
    assert given_all == visit_sums(shape, states=[[0, 1]], actions=[[0, 0]], delays=[0])


@pytest.mark.parametrize(
    ("states", "actions", "sentence"),
    [
        ([[0]], [[0, 0]], r"states has shape \(1, 1\); 1 delays ask for \(1, 3\)."),
        ([[0, 1]], [[0, 0], [0, 0]], r"actions has shape \(2, 2\); 1 delays ask for \(1, 2\)."),
        ([[0, 2]], [[0, 0]], "states holds 0 .. 2; allowed are 0 .. 1."),
        ([[0, 1]], [[0, -1]], "actions holds -1 .. 0; allowed are 0 .. 0."),
    ],
)
def test_paths_that_do_not_fit_are_refused(states, actions, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        visit_sums(Shape(2, 1, 2), states=states, actions=actions, delays=[0])


def test_paths_must_hold_integers() -> None:
    with pytest.raises(TypeError, match=r"^states must hold integers.$"):
        visit_sums(Shape(1, 1, 1), states=[[0.0]], actions=[[0]], delays=[0])
