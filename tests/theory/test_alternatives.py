"""Tests of the orders of other methods for delayed feedback."""

import math

import pytest

from belated.episode import Shape
from belated.theory import explicit_exploration, lower_bound, multi_instance, psi
from belated.theory.table import TABLE_1, evaluate_row, find_row

CHAIN = Shape(states=30, actions=2, horizon=30)
K, T = 100_000, 3_000_000


def test_explicit_exploration_has_its_formula() -> None:
    found = explicit_exploration(CHAIN, episodes=K, longest_delay=1000)
    assert found.leading == pytest.approx(30**1.5 * 30 * math.sqrt(2 * T))
    assert found.delay == 900 * 30 * 1000
    assert found.order


def test_several_instances_share_the_episodes() -> None:
    found = multi_instance("ucbvi-bf", CHAIN, episodes=K, mean_delay=300)
    M = 1 + psi(300, K, 0.05)
    lower = 30**3 * 30**2 * 2  # H^3 S^2 A, once for each instance
    assert found.total == pytest.approx(M * 30 * math.sqrt(60 * T / M) + (M - 1) * lower)
    assert found.leading == find_row("ucbvi-bf").immediate(CHAIN, episodes=K)
    assert found.order


def test_the_number_of_instances_may_be_given_and_is_at_most_that_of_episodes() -> None:
    four = multi_instance("ucrl2", CHAIN, episodes=100, mean_delay=3, copies=4)
    lower = 30**2 * 30**1.5 * 2
    assert four.total == pytest.approx(2 * four.leading + 3 * lower)
    many = multi_instance("ucrl2", CHAIN, episodes=100, mean_delay=1e9)
    assert many.total == pytest.approx(10 * many.leading + 99 * lower)
    assert multi_instance("ucrl2", CHAIN, episodes=100, mean_delay=0).delay == 0


@pytest.mark.parametrize("base", [row.base for row in TABLE_1 if not row.penalty])
@pytest.mark.parametrize("mean_delay", [1, 30, 300])
@pytest.mark.parametrize("episodes", [1000, K, 10**9])
def test_several_instances_never_have_a_smaller_order_than_active_updating(
    base: str, mean_delay: float, episodes: int
) -> None:
    several = multi_instance(base, CHAIN, episodes=episodes, mean_delay=mean_delay)
    active = evaluate_row(find_row(base), CHAIN, episodes, mean_delay, alpha=10).active
    assert several.total > active.total


def test_the_lower_bound_has_its_formula() -> None:
    least = lower_bound(CHAIN, episodes=K)
    assert least.total == pytest.approx(30 * math.sqrt(60 * T))
    assert least.delay == 0
    assert least.order


def test_a_negative_longest_delay_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^longest_delay must be at least 0, got -1.$"):
        explicit_exploration(CHAIN, episodes=9, longest_delay=-1)


@pytest.mark.parametrize("copies", [0, 10])
def test_too_few_or_too_many_instances_are_rejected(copies: float) -> None:
    message = rf"^copies must lie between 1 and K = 9, got {copies}.$"
    with pytest.raises(ValueError, match=message):
        multi_instance("ucrl2", CHAIN, episodes=9, mean_delay=1, copies=copies)
