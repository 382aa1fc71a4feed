"""Intervals and lines against scipy's and numpy's."""

from inspect import signature
from typing import Any

import numpy as np
import pytest
from scipy import stats

from belated.papers.statistics import (
    Interval,
    bootstrap_interval,
    curvature_weights,
    discoveries,
    is_below,
    mean_interval,
    p_value_above,
    r_squared,
    relative_difference,
    resample_means,
    resample_weights,
    slope_weights,
    tail_probability,
)


def test_the_fit_of_a_line_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.uniform(-5, 500, 6)
        y = 3 * x + rng.normal(0, 200, 6)
        known = stats.linregress(x, y)
        assert y @ slope_weights(x) == pytest.approx(known.slope)
        assert r_squared(x, y) == pytest.approx(known.rvalue**2)


def test_slope_and_bend_are_those_of_polynomial_fits():
    rng = np.random.default_rng(1)
    x = np.array([0, 100, 200, 300, 400, 500])
    for y in rng.normal(0, 100, (20, 6)):
        assert y @ slope_weights(x) == pytest.approx(np.polyfit(x, y, 1)[0])
        assert y @ curvature_weights(x) == pytest.approx(np.polyfit(x, y, 2)[0])
    assert (2 + 3 * x - 0.004 * x**2) @ curvature_weights(x) == pytest.approx(-0.004)


@pytest.mark.parametrize(
    ("weights", "points"), [(slope_weights, [3, 3]), (curvature_weights, [1, 2, 2])]
)
def test_too_few_different_points_are_refused(weights, points):
    with pytest.raises(ValueError, match=r"^A (line|parabola) needs at least [23] diff"):
        weights(points)


def test_resamples_are_resample_weights_of_seeds_and_always_the_same():
    first = resample_weights(7).copy()
    resample_weights.cache_clear()
    np.testing.assert_array_equal(first, resample_weights(7))
    np.testing.assert_allclose(first.sum(axis=1), 1)
    np.testing.assert_allclose(first * 7, np.round(first * 7), atol=1e-12)
    # a mean of n has the n-th part of the variance of one
    np.testing.assert_allclose(first.var(axis=0), (1 / 7) * (6 / 7) / 7, rtol=0.1)


def test_few_seeds_have_no_interval():
    with pytest.raises(ValueError, match=r"^An interval needs at least 5 seeds, got 4\.$"):
        mean_interval(np.arange(4.0))


def test_the_interval_of_a_mean_is_that_of_scipys_bootstrap_at_the_same_level():
    values = np.random.default_rng(3).gamma(2, 50, 30)
    renamed = "rng" in signature(stats.bootstrap).parameters  # since SciPy 1.15
    generator: Any = {"rng" if renamed else "random_state": np.random.default_rng(4)}
    known = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        confidence_level=1 - 2 * tail_probability(30),
        method="percentile",
        **generator,
    ).confidence_interval
    found = mean_interval(values)
    assert found.estimate == values.mean()
    width = known.high - known.low
    assert found.low == pytest.approx(known.low, abs=0.03 * width)
    assert found.high == pytest.approx(known.high, abs=0.03 * width)


def test_a_ratio_has_the_interval_of_paired_means():
    rng = np.random.default_rng(6)
    reference = rng.uniform(50, 150, 30)
    exact = relative_difference(1.2 * reference, reference)
    assert exact == pytest.approx((0.2, 0.2, 0.2))
    loose = relative_difference(1.2 * rng.permutation(reference), reference)
    assert loose.estimate == pytest.approx(0.2)
    assert loose.high - loose.low > 0.1


def test_the_p_value_of_a_mean_is_nearly_that_of_students_test():
    rng = np.random.default_rng(7)
    for shift in (0.0, 0.3, 0.6):
        values = rng.normal(shift, 1, 30)
        known = stats.ttest_1samp(values, 0, alternative="greater").pvalue
        found = p_value_above(mean_interval(values), 0, 30)
        assert found == pytest.approx(known, rel=0.2, abs=0.01)
        assert is_below(mean_interval(values), 0, 30).confirm == pytest.approx(1 - found)


@pytest.mark.parametrize(("bound", "p"), [(1.0, 0.025), (3.0, 0.5), (5.0, 0.975)])
def test_a_p_value_agrees_with_the_interval(bound, p):
    assert p_value_above(Interval(2.5, 1, 5), bound, 8) == pytest.approx(p)
    assert is_below(Interval(2.5, 1, 5), bound, 8).confirm == pytest.approx(1 - p)


def test_discoveries_are_those_of_scipys_adjusted_p_values():
    rng = np.random.default_rng(8)
    found = 0
    for size in (1, 2, 30, 84):
        for _ in range(20):
            p = rng.uniform(0, 1, size) ** rng.integers(1, 8)
            known = stats.false_discovery_control(p, method="by") <= 0.05
            np.testing.assert_array_equal(discoveries(p, 0.05), known)
            found += int(known.sum())
    assert found > 100
    assert discoveries([], 0.05).size == 0


def test_a_reversed_interval_corrects_the_bias_of_a_maximum():
    """The maximum of six equal means is biased upwards, and resampling adds to the bias."""
    rng = np.random.default_rng(9)
    above = {False: 0, True: 0}
    for _ in range(100):
        table = rng.normal(0, 1, (20, 6))
        estimate, draws = table.mean(axis=0).max(), resample_means(table).max(axis=1)
        for reverse in above:
            above[reverse] += bootstrap_interval(estimate, draws, 20, reverse=reverse).low > 0
    assert above[False] > 2 * above[True]
