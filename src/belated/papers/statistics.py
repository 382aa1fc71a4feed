"""Bootstrap confidence intervals, tests and least-squares fits for runs with common seeds.

Quantities measured in several runs form a table with one row for each seed and one column for each
quantity. The bootstrap resamples whole rows, so that comparisons of columns are paired by seed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from belated.episode import Bools, Floats

RESAMPLES: Final = 10_000
"""Number of bootstrap resamples for each confidence interval."""

CONFIDENCE: Final = 0.95
"""Confidence level of all intervals of this module."""

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


def align(columns: Sequence[Mapping[int, ArrayLike]]) -> Floats | None:
    """Return a table of quantities, with a row for each seed that all `columns` have in common.

    `columns` contains, for each quantity, a map from seeds to values, which may be arrays. The
    shape of the result is (seeds, columns, ...). Return None if there are fewer than `MIN_SEEDS`
    common seeds.
    """
    shared = sorted(set.intersection(*map(set, columns)))
    if len(shared) < MIN_SEEDS:
        return None
    return np.array([[column[seed] for column in columns] for seed in shared])


def resample_means(table: Floats) -> Floats:
    """Return the column means of `table` in each bootstrap resample of its rows.

    `table` has one row per seed. The shape of the result is (RESAMPLES, columns).
    """
    return resample_weights(table.shape[0]) @ table


def tail_probability(seeds: int) -> float:
    """Return the probability of each tail of the bootstrap percentile interval with `seeds` seeds.

    With few seeds, the interval from the 2.5 % to the 97.5 % percentile is too narrow. The tail
    probability is therefore below 2.5 %, chosen so that for normal data the interval agrees with
    Student's t interval (Hesterberg 2015, "expanded percentiles").

    >>> [round(tail_probability(seeds), 4) for seeds in (10_000, 30, 5)]
    [0.025, 0.0188, 0.001]
    """
    student = float(special.stdtrit(seeds - 1, (1 + CONFIDENCE) / 2))
    return float(special.ndtr(-math.sqrt(seeds / (seeds - 1)) * student))


def bootstrap_interval(
    estimate: float, draws: Floats, seeds: int, *, reverse: bool = False
) -> Interval:
    """Return the bootstrap confidence interval of a statistic.

    Parameters
    ----------
    estimate : float
        Value of the statistic.
    draws : array, shape (RESAMPLES,)
        Value of the statistic in each resample.
    seeds : int
        Number of seeds that were resampled.
    reverse : bool
        Whether to reflect the percentiles at the estimate (basic bootstrap interval). This corrects
        the bias of statistics that resampling increases or decreases on average, such as a maximum.

    Returns
    -------
    Interval
        The estimate with its confidence interval.
    """
    cut = tail_probability(seeds)
    low, high = np.quantile(draws, [cut, 1 - cut])
    if reverse:
        low, high = 2 * estimate - high, 2 * estimate - low
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


def p_value_above(interval: Interval, bound: float, seeds: int) -> float:
    """Return the p-value of the hypothesis that the true value is at most `bound`.

    The p-value agrees with the confidence interval: it is below 0.025 if and only if the whole
    interval is above `bound`. It is computed from a Student's t distribution whose central 95 % are
    the interval.

    Parameters
    ----------
    interval : Interval
        Confidence interval of the value.
    bound : float
        Bound of the value under the hypothesis.
    seeds : int
        Number of seeds from which the interval was computed.

    Returns
    -------
    float
        The one-sided p-value.

    Examples
    --------
    >>> round(p_value_above(Interval(3, 1, 5), 1, seeds=30), 3)
    0.025
    """
    distance = (interval.low + interval.high) / 2 - bound
    half_width = (interval.high - interval.low) / 2
    if half_width == 0:
        return 0.5 if distance == 0 else float(distance < 0)
    quantile = special.stdtrit(seeds - 1, (1 + CONFIDENCE) / 2)
    return float(special.stdtr(seeds - 1, -distance / half_width * quantile))


class PValues(NamedTuple):
    """P-values of the two tests of a claim in one setting."""

    confirm: float
    """P-value of the hypothesis that the claim is false."""
    refute: float
    """P-value of the hypothesis that the claim is true."""


def is_above(interval: Interval, bound: float, seeds: int) -> PValues:
    """Return the p-values of the claim that a value is above `bound`.

    `interval` is the confidence interval of the value, computed from `seeds` seeds.
    """
    estimate, low, high = interval
    opposite = p_value_above(Interval(-estimate, -high, -low), -bound, seeds)
    return PValues(p_value_above(interval, bound, seeds), opposite)


def is_below(interval: Interval, bound: float, seeds: int) -> PValues:
    """Return the p-values of the claim that a value is below `bound`.

    `interval` is the confidence interval of the value, computed from `seeds` seeds.
    """
    return PValues(*reversed(is_above(interval, bound, seeds)))


def is_within(interval: Interval, margin: float, seeds: int) -> PValues:
    """Return the p-values of the claim that a value is between -`margin` and `margin`.

    This is an equivalence test. `interval` is the confidence interval of the value, computed from
    `seeds` seeds.
    """
    return all_hold([is_above(interval, -margin, seeds), is_below(interval, margin, seeds)])


def all_hold(tests: Iterable[PValues]) -> PValues:
    """Return the p-values of the claim that several claims all hold.

    `tests` contains the p-values of each of these claims. The joint claim is confirmed if every
    single claim is confirmed. It is refuted if any single claim is refuted, with Bonferroni's
    correction.
    """
    confirm, refute = zip(*tests, strict=True)
    return PValues(max(confirm), min(1.0, len(refute) * min(refute)))


def all_positive(columns: Iterable[Floats]) -> PValues:
    """Return the p-values of the claim that the means of several values are all above 0.

    Each of `columns` has one entry per seed.
    """
    return all_hold(is_above(mean_interval(column), 0, column.size) for column in columns)


def any_holds(tests: Iterable[PValues]) -> PValues:
    """Return the p-values of the claim that at least one of several claims holds.

    `tests` contains the p-values of each of these claims. The joint claim is confirmed if any
    single claim is confirmed, with Bonferroni's correction. It is refuted if every single claim is
    refuted.
    """
    return PValues(*reversed(all_hold(PValues(*reversed(test)) for test in tests)))


def discoveries(p_values: ArrayLike, level: float) -> Bools:
    """Return which hypotheses are rejected by the procedure of Benjamini and Yekutieli (2001).

    The expected share of false rejections among all rejections is at most `level`, whatever the
    dependence of the p-values. If all hypotheses are true, the probability of any rejection is at
    most `level`.

    Parameters
    ----------
    p_values : array, shape (m,)
        The p-value of each hypothesis.
    level : float
        Maximum false discovery rate.

    Returns
    -------
    array of bool, shape (m,)
        Whether each hypothesis is rejected.

    Examples
    --------
    >>> discoveries([0.001, 0.5, 0.01], 0.05)
    array([ True, False,  True])
    """
    p = np.asarray(p_values, float)
    rank = np.arange(1, p.size + 1)
    allowed = rank * level / (p.size * (1 / rank).sum())
    passed = np.flatnonzero(np.sort(p) <= allowed)
    rejected: Bools = p <= (np.sort(p)[passed[-1]] if passed.size else -1.0)
    return rejected


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
