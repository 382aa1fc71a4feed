"""Tests of dependence: the log-rank test, the rank correlation, drift, and Holm's adjustment."""

import numpy as np
import pytest
from scipy import stats

from belated.survival.dependence import (
    MIN_GROUP,
    Cohorts,
    DependenceTest,
    adjust,
    compare_groups,
    correlate_return,
    log_rank,
)
from survival.cohorts import detected, independent_p


@pytest.mark.parametrize("seed", range(5))
def test_with_two_groups_it_is_the_log_rank_test_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    durations, returned = rng.integers(1, 15, 80).astype(np.float64), rng.random(80) < 0.7
    groups = rng.integers(2, size=80)
    x, y = (
        stats.CensoredData(
            durations[(groups == g) & returned], right=durations[(groups == g) & ~returned]
        )
        for g in (0, 1)
    )
    theirs, ours = stats.logrank(x, y), log_rank(durations, returned, groups)
    assert ours == pytest.approx(theirs.pvalue)


def test_under_independence_each_test_rejects_at_its_level() -> None:
    number = 400
    p = np.array([independent_p(seed) for seed in range(number)])
    low, high = stats.binom.interval(0.999, number, 0.05)
    for rejected in (p <= 0.05).sum(axis=0):
        assert low <= rejected <= high
    # Holm's adjustment keeps the rate of any rejection below the level
    tests = [[DependenceTest("", "", p=each) for each in row] for row in p.tolist()]
    assert sum(any(test.rejects() for test in adjust(row)) for row in tests) <= high


def test_the_example_of_the_page_is_detected_with_a_power_of_80_percent() -> None:
    found = np.sum([detected(seed) for seed in range(20)], axis=0)
    assert (found >= 0.8 * 20).all()


def test_groups_known_only_from_feedback_are_compared_in_complete_cohorts() -> None:
    # two groups alike, but of one nothing is known while it is out: all known ones are early
    rng = np.random.default_rng(4)
    delays, ages = rng.exponential(10, 600), np.repeat([100.0, 10.0], 300)
    back = delays <= ages
    labels = np.where(back, rng.integers(2, size=600), None)
    cohorts = Cohorts(np.minimum(delays, ages), back, ages > 50)
    test = compare_groups(cohorts, "first action", labels)
    assert test.method == "log-rank, complete cohorts"
    assert test.episodes == (back & (ages > 50)).sum()
    unknown = compare_groups(Cohorts(cohorts.durations, back, None), "first action", labels)
    assert (unknown.p, unknown.reason) == (None, "no cohort is known to be complete yet")


def test_small_groups_are_joined() -> None:
    durations = np.arange(100.0)
    labels = np.array([*(["a"] * 50), *(["b"] * 45), *"cdefg"], object)
    cohorts = Cohorts(durations, np.full(100, True), None)
    assert compare_groups(cohorts, "state", labels).p is not None
    few = compare_groups(cohorts, "state", np.array(["a"] * 90 + ["b"] * 10, object))
    assert few.reason == f"there are not two groups of {MIN_GROUP} episodes"


def test_the_rank_correlation_is_that_of_scipy_with_its_bootstrap_interval() -> None:
    rng = np.random.default_rng(6)
    delays = rng.integers(0, 30, 200).astype(np.float64)
    returns = delays + rng.normal(0, 20, 200)
    cohorts = Cohorts(delays, np.full(200, True), np.full(200, True))
    found = correlate_return(cohorts, returns, seed=0).correlation
    assert found is not None
    assert found.value == pytest.approx(stats.spearmanr(delays, returns).statistic)
    theirs = stats.bootstrap(
        (delays, returns),
        lambda x, y: stats.spearmanr(x, y).statistic,
        n_resamples=300,
        paired=True,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.04)


def test_holms_adjustment_skips_tests_that_were_not_made() -> None:
    made = [DependenceTest("", "", p=p) for p in (0.04, None, 0.01, 0.03)]
    assert [test.adjusted_p for test in adjust(made)] == pytest.approx([0.06, None, 0.03, 0.06])
