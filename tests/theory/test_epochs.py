"""Tests of the bounds on the number of epochs, against simulated counters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.episode import Shape
from belated.theory import epoch_bound, lazy_bound, lazy_sum, sharp_epoch_bound

ONE = Shape(states=1, actions=1, horizon=1)


def epochs(visits: list[list[int]], delays: list[int], alpha: float) -> int:
    """Return J, where `visits[i]` are the triples of episode i + 1 and `delays[i]` is its delay."""
    n = np.zeros(1 + max(max(row) for row in visits), int)
    start = n.copy()
    count = 1
    for k in range(1, len(visits) + 1):
        for i, (row, tau) in enumerate(zip(visits, delays, strict=True), start=1):
            if i + tau == k - 1:
                n[row] += 1
        more = n > start
        if (alpha * (n - start)[more] >= start[more]).any():
            start = n.copy()
            count += 1
    return count


@pytest.mark.parametrize(
    ("episodes", "J"), [(2, 2), (3, 3), (5, 4), (10, 5), (100, 8), (10_000, 15)]
)
def test_doubling_violates_the_printed_bound_and_not_the_corrected_one(
    episodes: int, J: int
) -> None:
    start = 0
    counted = 1
    for n in range(1, episodes):
        if n >= 2 * start:
            start = n
            counted += 1
    assert counted == J
    assert epoch_bound(ONE, episodes, 1, printed=True) < J <= epoch_bound(ONE, episodes, 1)


def test_three_episodes_of_one_triple_make_three_epochs() -> None:
    assert epochs([[0]] * 3, [0] * 3, alpha=1) == 3
    assert epoch_bound(ONE, 3, 1, printed=True) == 2
    assert epoch_bound(ONE, 3, 1) == 3


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_run_has_more_epochs_than_the_corrected_bound(data: st.DataObject) -> None:
    shape = Shape(
        states=data.draw(st.integers(1, 3)), actions=1, horizon=data.draw(st.integers(1, 2))
    )
    K = data.draw(st.integers(1, 40))
    alpha = data.draw(st.sampled_from([1, 1.5, 2, 10, 100, math.inf]))
    S = shape.states
    states = st.lists(st.integers(0, S - 1), min_size=shape.horizon, max_size=shape.horizon)
    visits = [[h * S + s for h, s in enumerate(data.draw(states))] for _ in range(K)]
    delays = data.draw(st.lists(st.integers(0, 5), min_size=K, max_size=K))
    J = epochs(visits, delays, alpha)
    assert J <= sharp_epoch_bound(shape, K, alpha) <= epoch_bound(shape, K, alpha)


@pytest.mark.parametrize("alpha", [1, 3, 10, 10.5, 100])
def test_sharp_bound_counts_one_triple_almost_exactly(alpha: float) -> None:
    K = 3000
    start = 0
    counted = 1
    for n in range(1, K):
        if alpha * (n - start) >= start:
            start = n
            counted += 1
    assert counted <= sharp_epoch_bound(ONE, K, alpha) < 1.2 * counted + 2


def test_sharp_bound_has_its_formula() -> None:
    shape = Shape(states=3, actions=2, horizon=4)
    expected = 1 + 24 * (10 + math.log(10**4 / 10) / math.log(1.1))
    assert sharp_epoch_bound(shape, 6 * 10**4, 10) == pytest.approx(expected)
    assert sharp_epoch_bound(shape, 600, 1) == epoch_bound(shape, 600, 1)
    assert sharp_epoch_bound(shape, 600, math.inf) == 600


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


def test_lazy_bound_has_its_formula() -> None:
    assert lazy_bound(100, 1, power=0.5) == pytest.approx((1 + 2 * math.sqrt(2)) * 10)
    assert lazy_bound(100, 4, power=1) == pytest.approx(1.25 * (1 + math.log(100)))
    assert lazy_bound(100, math.inf, power=1) == pytest.approx(1 + math.log(100))


def test_lazy_sum_divides_by_the_previous_total() -> None:
    assert lazy_sum([1, 1, 2, 4], power=0.5) == pytest.approx(1 + 1 + math.sqrt(2) + 2)
    assert lazy_sum([0.25, 0.25, 0.5, 3], power=1) == 4
    assert lazy_sum([], power=1) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lazy_bound(0.5, 1, power=1), "total must be at least 1, got 0.5."),
        (lambda: lazy_bound(2, 0.5, power=1), "alpha must be at least 1 .*, got 0.5."),
        (lambda: lazy_sum([1], power=0), "power must be 0.5 or 1, got 0."),
    ],
)
def test_invalid_arguments_of_the_sums_are_rejected(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()
