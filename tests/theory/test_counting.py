"""The counting lemmas' right-hand sides; what they bound is in test_lemmas_hold.py."""

import math

import pytest

from belated.episode import Shape
from belated.theory import lazy_bound, lazy_sum, visit_bound

SHAPE = Shape(states=5, actions=2, horizon=5)


def test_visit_bound_has_its_formula() -> None:
    root = visit_bound(SHAPE, 10_000, missing=164.5, power=0.5)
    assert root == pytest.approx(4 * math.sqrt(50 * 50_000) + 3 * 50 * 164.5)
    inverse = visit_bound(SHAPE, 10_000, missing=164.5, power=1)
    assert inverse == pytest.approx(2 * 50 * math.log(400_000) + 50 * 164.5 * math.log(16 * 164.5))


def test_nothing_missing_adds_nothing() -> None:
    assert visit_bound(SHAPE, 100, missing=0, power=1) == pytest.approx(100 * math.log(4000))
    assert visit_bound(SHAPE, 100, missing=0, power=0.5) == pytest.approx(4 * math.sqrt(25_000))


def test_lazy_bound_has_its_formula() -> None:
    assert lazy_bound(100, 1, power=0.5) == pytest.approx((1 + 2 * math.sqrt(2)) * 10)
    assert lazy_bound(100, 4, power=1) == pytest.approx(1.25 * (1 + math.log(100)))
    assert lazy_bound(100, math.inf, power=1) == pytest.approx(1 + math.log(100))


def test_lazy_sum_divides_by_what_came_before() -> None:
    assert lazy_sum([1, 1, 2, 4], power=0.5) == pytest.approx(1 + 1 + math.sqrt(2) + 2)
    assert lazy_sum([0.25, 0.25, 0.5, 3], power=1) == 4
    assert lazy_sum([], power=1) == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: visit_bound(SHAPE, 0, missing=0, power=1), "episodes is 0; it must be at least 1"),
        (lambda: visit_bound(SHAPE, 9, missing=-1, power=1), "missing is -1; it must be at least"),
        (lambda: visit_bound(SHAPE, 9, missing=1, power=2), "power is 2; it must be 0.5 or 1"),
        (lambda: lazy_bound(0.5, 1, power=1), "total is 0.5; it must be at least 1"),
        (lambda: lazy_bound(2, 0.5, power=1), "alpha is 0.5; it must be at least 1"),
        (lambda: lazy_sum([1], power=0), "power is 0; it must be 0.5 or 1"),
    ],
)
def test_nonsense_is_refused(call, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        call()
