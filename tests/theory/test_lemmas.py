"""Tests of the formulas of Lemmas 1, 3 and 4, of S_k, and of the instances of a learner."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.delays import NEVER, constant, never
from belated.episode import Shape
from belated.theory import epoch_bound, missing, owners, psi, visit_bound

ONE = Shape(states=1, actions=1, horizon=1)
CHAIN = Shape(states=5, actions=2, horizon=5)
DELAYS = st.lists(st.integers(0, 15) | st.just(NEVER), max_size=40)


@settings(deadline=None)
@given(DELAYS)
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
        (500, 100_000, 639.9),
    ],
)
def test_psi_has_its_known_values(mean: float, episodes: int, printed: float) -> None:
    assert round(psi(mean, episodes, 0.05), 1) == printed


def test_safe_psi_is_where_bernsteins_exponent_spends_its_share_of_delta() -> None:
    mean, episodes, delta = 30, 500, 0.1
    beyond = psi(mean, episodes, delta, safe=True) - mean
    exponent = beyond * beyond / (2 * (mean + beyond / 3))
    assert math.isclose(episodes * math.exp(-exponent), delta / 5)


def test_psi_is_infinite_where_feedback_may_never_arrive() -> None:
    assert psi(never(0.1, otherwise=constant(5)).mean, 100, 0.05) == math.inf


def test_a_negative_delay_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^delays must be at least 0, got -2.$"):
        missing([1, -2])


@pytest.mark.parametrize("delays", [[1.5, 2.0], [[1, 2], [3, 4]]])
def test_delays_must_be_a_flat_sequence_of_integers(delays: list[int]) -> None:
    with pytest.raises(TypeError, match=r"^delays must be a flat sequence of integers, got "):
        missing(delays)


def played_by(delays: list[int]) -> list[int]:
    """Return the owners by definition: the lowest instance without an episode in flight."""
    owner: list[int] = []
    for k in range(1, len(delays) + 1):
        busy = {owner[i - 1] for i in range(1, k) if i + delays[i - 1] >= k}
        owner.append(min(set(range(k)) - busy))
    return owner


@settings(deadline=None)
@given(DELAYS)
def test_the_lowest_free_instance_plays(delays: list[int]) -> None:
    assert owners(delays).tolist() == played_by(delays)


@settings(deadline=None)
@given(DELAYS)
def test_the_number_of_instances_is_one_more_than_the_most_missing(delays: list[int]) -> None:
    assert len(set(owners(delays).tolist())) == 1 + max(missing(delays), default=-1)


@pytest.mark.parametrize(
    ("episodes", "printed"),
    [(2, 1.58), (3, 2), (5, 2.58), (10, 3.46), (100, 6.66), (10_000, 13.29)],
)
def test_printed_bound_has_its_known_values(episodes: int, printed: float) -> None:
    assert round(epoch_bound(ONE, episodes, 1, printed=True), 2) == printed


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


def test_visit_bound_has_its_formula() -> None:
    root = visit_bound(CHAIN, 10_000, missing=164.5, power=0.5)
    assert root == pytest.approx(4 * math.sqrt(50 * 50_000) + 3 * 50 * 164.5)
    inverse = visit_bound(CHAIN, 10_000, missing=164.5, power=1)
    assert inverse == pytest.approx(2 * 50 * math.log(400_000) + 50 * 164.5 * math.log(16 * 164.5))


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
