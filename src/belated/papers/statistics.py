"""Bootstrap confidence intervals and least-squares fits for quantities with common seeds.

A table has one row for each seed and one column for each quantity. The bootstrap resamples whole
rows, so that comparisons of columns are paired by seed.
"""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from belated.episode import Floats

RESAMPLES: Final = 10_000
"""Number of bootstrap resamples."""

CONFIDENCE: Final = 0.95
"""Confidence level of the intervals."""

MIN_SEEDS: Final = 5
"""Minimum number of seeds for a confidence interval.

With three seeds, the coverage of an interval would be only about 75 %.
"""


class Interval(NamedTuple):
    """Estimate with its 95 % confidence interval.

    >>> str(Interval(1.5, -0.25, 3))
    '1.5 [-0.25, 3]'
    """

    estimate: float
    low: float
    high: float

    @property
    def is_positive(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.low > 0

    @property
    def is_negative(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.high < 0

    def __str__(self) -> str:
        return f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}]"


@lru_cache(maxsize=8)
def resample_weights(seeds: int) -> Floats:
    """Return the weights of the seeds in each bootstrap resample, an array (RESAMPLES, seeds).

    `seeds` is the number of seeds. The weights of a resample add up to 1. Every call returns the
    same weights. Raise ValueError if there are fewer than `MIN_SEEDS` seeds.
    """
    if seeds < MIN_SEEDS:
        raise ValueError(f"An interval needs at least {MIN_SEEDS} seeds, got {seeds}.")
    rng = np.random.default_rng((1, seeds))
    weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=RESAMPLES) / seeds
    weights.flags.writeable = False
    return weights


def resample_means(table: Floats) -> Floats:
    """Return the column means of `table` in each bootstrap resample of its rows.

    The shape of the result is (RESAMPLES, columns).
    """
    return resample_weights(table.shape[0]) @ table


def tail_probability(seeds: int) -> float:
    """Return the probability of each tail of the bootstrap percentile interval with `seeds` seeds.

    With few seeds, the plain percentile interval is too narrow. Its tails are therefore reduced, so
    that for normal data the interval agrees with Student's t interval (Hesterberg 2015, "expanded
    percentiles").

    >>> [round(tail_probability(seeds), 4) for seeds in (10_000, 30, 5)]
    [0.025, 0.0188, 0.001]
    """
    student = float(special.stdtrit(seeds - 1, (1 + CONFIDENCE) / 2))
    return float(special.ndtr(-math.sqrt(seeds / (seeds - 1)) * student))


def bootstrap_interval(estimate: float, draws: Floats, seeds: int) -> Interval:
    """Return the bootstrap confidence interval of a statistic.

    Parameters
    ----------
    estimate : float
        Value of the statistic.
    draws : array, shape (RESAMPLES,)
        Value of the statistic in each resample.
    seeds : int
        Number of seeds that were resampled.

    Returns
    -------
    Interval
        The estimate with its confidence interval.
    """
    cut = tail_probability(seeds)
    low, high = np.quantile(draws, [cut, 1 - cut])
    return Interval(float(estimate), float(low), float(high))


def mean_interval(values: Floats) -> Interval:
    """Return the confidence interval of the mean of `values`, which has one entry per seed."""
    return bootstrap_interval(values.mean(), resample_means(values), values.size)


def relative_difference(values: Floats, reference: Floats) -> Interval:
    """Return the confidence interval of mean(values) / mean(reference) - 1.

    `values` and `reference` have one entry per seed. All entries of `reference` must be positive.
    """
    draws = resample_means(np.column_stack([values, reference]))
    estimate = values.mean() / reference.mean() - 1
    return bootstrap_interval(estimate, draws[:, 0] / draws[:, 1] - 1, values.size)


def is_decreasing(values: Floats, draws: Floats, seeds: int) -> bool:
    """Return whether a sequence of three values decreases significantly.

    Parameters
    ----------
    values : array, shape (3,)
        The values.
    draws : array, shape (RESAMPLES, 3)
        The three values in each resample.
    seeds : int
        Number of seeds that were resampled.

    Returns
    -------
    bool
        True if the first value is significantly above the third, and no value is significantly
        above its predecessor. A difference is significant if its confidence interval excludes zero.
    """
    total, first, second = (
        bootstrap_interval(values[i] - values[j], draws[:, i] - draws[:, j], seeds)
        for i, j in ((0, 2), (0, 1), (1, 2))
    )
    return total.is_positive and not first.is_negative and not second.is_negative


def r_squared(x: ArrayLike, y: ArrayLike) -> float:
    """Return R² of the least-squares line through the points (`x`, `y`); NaN if all `y` are equal.

    >>> r_squared([0, 1, 2], [1, 3, 5])
    1.0
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    slope = float(y @ slope_weights(x))
    intercept = float(y.mean() - slope * x.mean())
    total = float(((y - y.mean()) ** 2).sum())
    residual = float(((y - intercept - slope * x) ** 2).sum())
    return 1 - residual / total if total > 0 else math.nan


def slope_weights(x: ArrayLike) -> Floats:
    """Return weights w such that y @ w is the slope of a least-squares line.

    The line is fitted to the points (`x`, y), where y is any array of the same length as `x`. Raise
    ValueError if `x` has fewer than 2 distinct values.
    """
    x = np.asarray(x, float)
    if np.unique(x).size < 2:
        raise ValueError(f"A line needs at least 2 different points, got x = {x}.")
    deviation = x - x.mean()
    return deviation / (deviation @ deviation)


def curvature_weights(x: ArrayLike) -> Floats:
    """Return weights w such that y @ w is the quadratic coefficient of a least-squares parabola.

    The parabola is fitted to the points (`x`, y), where y is any array of the same length as `x`.
    Raise ValueError if `x` has fewer than 3 distinct values.
    """
    x = np.asarray(x, float)
    if np.unique(x).size < 3:
        raise ValueError(f"A parabola needs at least 3 different points, got x = {x}.")
    unit = float(np.abs(x).max())  # scales the three columns to the same magnitude
    columns = np.vander(x / unit, 3, increasing=True)
    weights: Floats = np.linalg.pinv(columns)[2] / unit**2
    return weights
