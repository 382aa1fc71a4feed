"""Tests of the formulas of Lemmas 3 and 4."""

import math

import pytest

from belated.episode import Shape
from belated.theory import epoch_bound, visit_bound

ONE = Shape(states=1, actions=1, horizon=1)
CHAIN = Shape(states=5, actions=2, horizon=5)


@pytest.mark.parametrize(
    ("episodes", "printed"),
    [(2, 1.58), (3, 2), (5, 2.58), (10, 3.46), (100, 6.66), (10_000, 13.29)],
)
def test_printed_bound_has_its_known_values(episodes: int, printed: float) -> None:
    assert round(epoch_bound(ONE, episodes, 1, printed=True), 2) == printed


def test_printed_bound_is_above_the_corrected_one_for_alpha_above_1_62() -> None:
    shape = Shape(states=5, actions=2, horizon=5)
    for alpha in (1.63, 2, 10, 100):
        assert epoch_bound(shape, 10**5, alpha, printed=True) > epoch_bound(shape, 10**5, alpha)
    assert epoch_bound(shape, 10**5, 1.6, printed=True) < epoch_bound(shape, 10**5, 1.6)


def test_bound_has_its_formula() -> None:
    shape = Shape(states=3, actions=2, horizon=4)
    assert epoch_bound(shape, 600, 1) == pytest.approx(1 + 24 * (1 + math.log2(100)))
    assert epoch_bound(shape, 600, 1, printed=True) == pytest.approx(24 * math.log2(101))
    # fewer episodes than pairs: no more epochs than episodes
    assert epoch_bound(shape, 5, 1) == 5


def test_active_updating_may_plan_in_every_episode() -> None:
    assert epoch_bound(ONE, 50, math.inf) == 50
    assert epoch_bound(ONE, 50, math.inf, printed=True) == math.inf
    assert epoch_bound(ONE, 50, 1e300) == 50


@pytest.mark.parametrize("alpha", [0.5, 0, -1, math.nan])
def test_an_alpha_below_one_is_rejected(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"^alpha must be at least 1 "):
        epoch_bound(ONE, 5, alpha)


def test_a_run_without_episodes_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^episodes must be at least 1, got 0.$"):
        epoch_bound(ONE, 0, 1)


def test_visit_bound_has_its_formula() -> None:
    root = visit_bound(CHAIN, 10_000, missing=164.5, power=0.5)
    assert root == pytest.approx(4 * math.sqrt(50 * 50_000) + 3 * 50 * 164.5)
    inverse = visit_bound(CHAIN, 10_000, missing=164.5, power=1)
    assert inverse == pytest.approx(2 * 50 * math.log(400_000) + 50 * 164.5 * math.log(16 * 164.5))


def test_the_bound_without_missing_episodes() -> None:
    assert visit_bound(CHAIN, 100, missing=0, power=1) == pytest.approx(100 * math.log(4000))
    assert visit_bound(CHAIN, 100, missing=0, power=0.5) == pytest.approx(4 * math.sqrt(25_000))


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
        visit_bound(CHAIN, **{"episodes": 9, "missing": 1, "power": 1, **wrong})  # type: ignore[arg-type]
