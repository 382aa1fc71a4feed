"""Promises side by side."""

import pytest

from belated.episode import Shape
from belated.theory import lower_bound
from belated.theory.classes import BASES
from belated.theory.comparison import Promise, compare
from belated.theory.regret import Regret

CHAIN = Shape(states=30, actions=2, horizon=30)
K = 100_000


def test_nobody_beats_the_lower_bound() -> None:
    least = lower_bound(CHAIN, episodes=K)
    for promise in compare(CHAIN, episodes=K, mean_delay=300):
        assert promise.order.total >= least.total


def test_every_base_is_compared_in_every_way() -> None:
    found = [(one.base, one.updating) for one in compare(CHAIN, episodes=K, mean_delay=300)]
    ways = [(base, way) for base in BASES for way in ("active", "lazy", "multi")]
    assert found == [*ways, (None, "explicit")]


def test_delay_fades_where_the_terms_change_sides() -> None:
    for promise in compare(Shape(4, 2, 3), episodes=K, mean_delay=20, alpha=3):
        if promise.updating == "multi":
            assert promise.order_fades is None
            continue
        fades = promise.order_fades
        assert fades is not None
        before, then = again(promise, fades - 1), again(promise, fades)
        assert then.delay < then.leading
        assert before.delay >= before.leading


def again(promise: Promise, episodes: int) -> Regret:
    """The same order for another number of episodes."""
    every = compare(Shape(4, 2, 3), episodes=episodes, mean_delay=20, alpha=3)
    [same] = [x for x in every if (x.base, x.updating) == (promise.base, promise.updating)]
    return same.order


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^alpha is 0; it must be at least 1 \(inf is active"):
        compare(CHAIN, episodes=9, mean_delay=1, alpha=0)
