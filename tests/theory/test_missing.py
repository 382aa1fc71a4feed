"""Tests of S_k against its definition, and of psi against known values and random delays."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.delays import NEVER, constant, never
from belated.theory import missing, psi


@settings(deadline=None)
@given(st.lists(st.integers(0, 15) | st.just(NEVER), max_size=40))
def test_missing_counts_the_episodes_not_yet_usable(delays: list[int]) -> None:
    counted = [sum(i + delays[i - 1] >= k for i in range(1, k)) for k in range(1, len(delays) + 1)]
    assert missing(delays).tolist() == counted


def test_delays_near_the_largest_integer_do_not_overflow() -> None:
    assert missing([2**63 - 1, 0, 0]).tolist() == [0, 1, 1]
    assert missing(np.array([2**64 - 1, 0, 0], np.uint64)).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("mean", "episodes", "printed"),
    [
        (0, 10_000, 13.2),
        (100, 10_000, 164.5),
        (300, 10_000, 402.1),
        (500, 10_000, 627.9),
        (0, 100_000, 15.5),
        (100, 100_000, 171.1),
        (300, 100_000, 411.8),
        (500, 100_000, 639.9),
    ],
)
def test_psi_has_its_known_values(mean: float, episodes: int, printed: float) -> None:
    assert round(psi(mean, episodes, 0.05), 1) == printed


@pytest.mark.parametrize(("mean", "printed"), [(100, 157.4), (500, 622.2)])
def test_safe_psi_has_its_known_values(mean: float, printed: float) -> None:
    assert round(psi(mean, 10_000, 0.05, safe=True), 1) == printed


def test_safe_psi_is_where_bernsteins_exponent_spends_its_share_of_delta() -> None:
    mean, episodes, delta = 30, 500, 0.1
    beyond = psi(mean, episodes, delta, safe=True) - mean
    exponent = beyond * beyond / (2 * (mean + beyond / 3))
    assert math.isclose(episodes * math.exp(-exponent), delta / 5)


def test_psi_is_infinite_where_feedback_may_never_arrive() -> None:
    assert psi(never(0.1, otherwise=constant(5)).mean, 100, 0.05) == math.inf


def test_without_episodes_nothing_is_missing() -> None:
    assert missing([]).tolist() == []


def test_a_negative_delay_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^delays must be at least 0, got -2.$"):
        missing([1, -2])


@pytest.mark.parametrize("delays", [[1.5, 2.0], [[1, 2], [3, 4]]])
def test_delays_must_be_a_flat_sequence_of_integers(delays: list[int]) -> None:
    with pytest.raises(TypeError, match=r"^delays must be a flat sequence of integers, got "):
        missing(delays)


@pytest.mark.parametrize(
    ("mean", "episodes", "delta", "message"),
    [
        (-1, 10, 0.05, "mean_delay must be at least 0, got -1."),
        (math.nan, 10, 0.05, "mean_delay must be at least 0, got nan."),
        (1, 0, 0.05, "episodes must be at least 1, got 0."),
        (1, 10, 0, "delta must lie strictly between 0 and 1, got 0."),
        (1, 10, 1.0, "delta must lie strictly between 0 and 1, got 1.0."),
    ],
)
def test_psi_rejects_invalid_arguments(
    mean: float, episodes: int, delta: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        psi(mean, episodes, delta)
