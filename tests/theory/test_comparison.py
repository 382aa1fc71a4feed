"""Comparison of the guarantees of all bases and updaters."""

import pytest

from belated.episode import Shape
from belated.theory import lower_bound
from belated.theory.bonus import BASES
from belated.theory.comparison import Guarantee, compare, find_crossover
from belated.theory.regret import Regret

CHAIN = Shape(states=30, actions=2, horizon=30)
K = 100_000


def test_no_order_is_below_the_lower_bound() -> None:
    least = lower_bound(CHAIN, episodes=K)
    for guarantee in compare(CHAIN, episodes=K, mean_delay=300):
        assert guarantee.order.total >= least.total


def test_every_base_is_compared_with_every_updater() -> None:
    found = [(one.base, one.updating) for one in compare(CHAIN, episodes=K, mean_delay=300)]
    ways = [(base, way) for base in BASES for way in ("active", "lazy", "multi")]
    assert found == [*ways, (None, "explicit")]


def test_delay_fades_where_the_delay_term_falls_below_the_leading_term() -> None:
    for guarantee in compare(Shape(4, 2, 3), episodes=K, mean_delay=20, alpha=3):
        if guarantee.updating == "multi":
            assert guarantee.order_fades is None
            continue
        fades = guarantee.order_fades
        assert fades is not None
        before, then = order_of(guarantee, fades - 1), order_of(guarantee, fades)
        assert then.delay < then.leading
        assert before.delay >= before.leading


def order_of(guarantee: Guarantee, episodes: int) -> Regret:
    """Return the same order for a different number of episodes."""
    every = compare(Shape(4, 2, 3), episodes=episodes, mean_delay=20, alpha=3)
    [same] = [x for x in every if (x.base, x.updating) == (guarantee.base, guarantee.updating)]
    return same.order


def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(
        ValueError, match=r"^alpha must be at least 1 \(inf is active updating\), got 0\.$"
    ):
        compare(CHAIN, episodes=9, mean_delay=1, alpha=0)


@pytest.mark.parametrize(
    ("delay", "first"), [(0.5, 1), (1.0, 2), (10.0, 101), (12345.0, 12345**2 + 1)]
)
def test_the_crossover_is_found_exactly(delay: float, first: int) -> None:
    assert find_crossover(lambda K: Regret(K**0.5, delay, K, order=True)) == first


def test_there_may_be_no_crossover() -> None:
    assert find_crossover(lambda K: Regret(1.0, 2.0, K, order=True)) is None
    assert find_crossover(lambda K: Regret(2.0, 1.0, K, order=True)) == 1
