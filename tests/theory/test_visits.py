"""Tests of sums along paths against their definition, and of the formula of their bound."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.delays import NEVER
from belated.episode import Shape
from belated.theory import visit_bound, visit_sums


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
    ("states", "actions", "message"),
    [
        ([[0]], [[0, 0]], r"states must have shape \(1, 3\) for 1 delays, got \(1, 1\)."),
        (
            [[0, 1]],
            [[0, 0], [0, 0]],
            r"actions must have shape \(1, 2\) for 1 delays, got \(2, 2\).",
        ),
        ([[0, 2]], [[0, 0]], "states must lie in 0 .. 1, got 0 .. 2."),
        ([[0, 1]], [[0, -1]], "actions must lie in 0 .. 0, got -1 .. 0."),
    ],
)
def test_paths_that_do_not_fit_are_rejected(states, actions, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        visit_sums(Shape(2, 1, 2), states=states, actions=actions, delays=[0])


def test_paths_must_hold_integers() -> None:
    with pytest.raises(TypeError, match=r"^states must hold integers, got float64.$"):
        visit_sums(Shape(1, 1, 1), states=[[0.0]], actions=[[0]], delays=[0])


SHAPE = Shape(states=5, actions=2, horizon=5)


def test_visit_bound_has_its_formula() -> None:
    root = visit_bound(SHAPE, 10_000, missing=164.5, power=0.5)
    assert root == pytest.approx(4 * math.sqrt(50 * 50_000) + 3 * 50 * 164.5)
    inverse = visit_bound(SHAPE, 10_000, missing=164.5, power=1)
    assert inverse == pytest.approx(2 * 50 * math.log(400_000) + 50 * 164.5 * math.log(16 * 164.5))


def test_the_bound_without_missing_episodes() -> None:
    assert visit_bound(SHAPE, 100, missing=0, power=1) == pytest.approx(100 * math.log(4000))
    assert visit_bound(SHAPE, 100, missing=0, power=0.5) == pytest.approx(4 * math.sqrt(25_000))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"episodes": 0}, "episodes .*at least 1"),
        ({"missing": -1}, "missing must be at least 0, got -1."),
        ({"power": 2}, "power must be 0.5 or 1, got 2."),
    ],
)
def test_invalid_arguments_of_the_bound_are_rejected(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        visit_bound(SHAPE, **{"episodes": 9, "missing": 1, "power": 1, **wrong})  # type: ignore[arg-type]
