"""The Kaplan-Meier estimate, its bands and quantiles, and the share that never returns."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from belated.episode import Bools, Floats
from belated.survival.duration_counts import DurationCounts
from belated.survival.estimate import DelayEstimate, estimate_from_counts, never_share
from belated.survival.kaplan_meier import kaplan_meier
from survival.cohorts import covered


def sample(seed: int, *, size: int = 60) -> tuple[Floats, Bools]:
    """Return durations with many ties, and whether they ended in a return."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 12, size).astype(np.float64), rng.random(size) < 0.6


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_that_of_scipy(seed: int) -> None:
    durations, returned = sample(seed)
    km = kaplan_meier(durations, returned)
    theirs = stats.ecdf(stats.CensoredData(durations[returned], right=durations[~returned])).sf
    np.testing.assert_allclose(km.survival, theirs.evaluate(km.times), atol=1e-12)


@pytest.mark.parametrize("bands", ["log-log", "linear"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bands_are_those_of_scipy_where_they_are_defined(seed: int, bands: str) -> None:
    durations, returned = sample(seed)
    km = kaplan_meier(durations, returned, bands=bands, confidence=0.9)  # type: ignore[arg-type]
    theirs = stats.ecdf(stats.CensoredData(durations[returned], right=durations[~returned])).sf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits = theirs.confidence_interval(0.9, method=bands)
    inside = (km.survival > 0) & (km.survival < 1)
    assert inside.sum() > 5
    for ours, other in ((km.low, limits.low), (km.high, limits.high)):
        np.testing.assert_allclose(ours[inside], other.evaluate(km.times[inside]), atol=1e-9)


def test_a_band_has_exact_limits_where_all_or_none_are_back() -> None:
    km = kaplan_meier(np.array([1.0, 5.0, 5.0, 5.0]), np.array([False, True, True, True]))
    # of three episodes, all are back after 5: the limit of a binomial share of 0 of 3
    assert km.at(5) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 3)))
    assert km.at(1) == (1.0, pytest.approx(0.025 ** (1 / 4)), 1.0)
    assert km.at(0).high == 1


def test_bands_cover_the_true_law_at_its_quartiles_as_often_as_they_claim() -> None:
    assert 0.93 <= np.mean([covered(seed) for seed in range(500)]) <= 0.97


def test_the_interval_of_a_quantile_holds_the_times_at_which_the_band_holds_the_share() -> None:
    km = kaplan_meier(*sample(1, size=400))
    for p in (0.1, 0.25, 0.5):
        value, low, high = km.quantile(p)
        assert km.at(value).value <= 1 - p < km.at(value - 1).value
        assert km.at(low).low <= 1 - p
        assert low == 0 or km.at(low - 1).low > 1 - p
        assert low <= value <= high
        assert math.isinf(high) or km.at(high).high <= 1 - p


def test_counts_in_groups_give_the_estimate_of_the_episodes() -> None:
    rng = np.random.default_rng(3)
    delays, ages = rng.geometric(0.02, 500) - 1, rng.integers(0, 120, 90)
    counts = DurationCounts()
    for delay in delays.tolist():
        counts.add_one(delay)
    ours = estimate_from_counts(DurationCounts.restore(counts.snapshot()), ages)
    back = np.repeat([True, False], [500, 90])
    theirs = DelayEstimate("episodes", kaplan_meier(np.concatenate([delays, ages]), back))
    small = ours.km.times < 128
    np.testing.assert_allclose(ours.km.survival[small], theirs.km.survival[: small.sum()])
    assert ours.median == theirs.median
    assert ours.quantile(0.9).value == pytest.approx(theirs.quantile(0.9).value, rel=1 / 64)


def test_the_share_that_never_returns_is_told_after_a_long_follow_up() -> None:
    rng = np.random.default_rng(5)
    ages = np.arange(2000)
    delays = np.where(rng.random(2000) < 0.2, np.inf, rng.geometric(1 / 20, 2000))
    never = never_share(kaplan_meier(np.minimum(delays, ages), delays <= ages))
    assert never.is_known
    assert never.low < 0.2 < never.high < 0.25
    assert never.last_return < 0.95 * never.followed


@pytest.mark.parametrize(("mean", "episodes"), [(100, 150), (1000, 300), (300, 300)])
def test_after_a_short_follow_up_the_share_cannot_be_told_yet(mean: int, episodes: int) -> None:
    told = 0
    for seed in range(40):
        delays = np.random.default_rng(seed).geometric(1 / mean, episodes)
        ages = np.arange(episodes)
        estimate = DelayEstimate("episodes", kaplan_meier(np.minimum(delays, ages), delays <= ages))
        told += estimate.never.is_known
        if not estimate.never.is_known:
            assert estimate.never.share is None
            assert estimate.never.low == 0
            assert "cannot be told yet" in estimate.summary
    assert told <= 8  # a stretch without returns happens by chance


def test_if_all_are_back_no_share_never_returns_up_to_its_uncertainty() -> None:
    never = never_share(kaplan_meier(np.full(300, 7.0), np.full(300, True)))
    assert (never.share, never.low) == (0, 0)
    assert never.high == pytest.approx(1 - 0.025 ** (1 / 300))


def test_without_any_return_nothing_can_be_told() -> None:
    estimate = DelayEstimate("episodes", kaplan_meier(np.arange(5), np.full(5, False)))
    assert not estimate.never.is_known
    assert estimate.never.high == 1
    assert math.isinf(estimate.median.value)
    assert estimate.summary.startswith("None of 5 episodes is back")
    with pytest.raises(
        ValueError, match=r"law needs at least one episode that is back, got none\."
    ):
        estimate.law()
