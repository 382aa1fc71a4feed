"""Exponents of power laws, fitted to the means of paired measurements.

A power law y = c x^e is a line with slope e in the logarithms of x and y. The slope is fitted by
least squares, and its confidence interval is found by bootstrap.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.papers.statistics import (
    Interval,
    bootstrap_interval,
    r_squared,
    resample_means,
    slope_weights,
)

FAR: Final = 1e9
"""Exponent in place of infinity, between which and others quantiles can be interpolated."""


class Exponent(NamedTuple):
    """Exponent of a power law that was fitted to measurements."""

    interval: Interval
    """Exponent with its 95 % confidence interval."""
    r_squared: float
    """R² of the line in logarithms; far below 1, a power law does not describe the means."""
    local: tuple[float, ...]
    """Exponent between each pair of neighbouring points."""


def fit_exponent(x: ArrayLike, table: ArrayLike) -> Exponent:
    """Return the exponent e of the power law c x^e that fits the means of measurements best.

    The confidence interval is that of the bootstrap, which resamples the rows of `table`. It covers
    the variation between rows; it does not cover deviations of the means from a power law, which
    `Exponent.r_squared` and `Exponent.local` show.

    Parameters
    ----------
    x : array, shape (points,)
        Positive numbers in ascending order, at least 2.
    table : array, shape (units, points)
        Measurement of each unit, such as a seed or a world, at each x; at least 5 units.

    Returns
    -------
    Exponent
        The exponent with its confidence interval, and how well a power law fits.

    Raises
    ------
    ValueError
        If a mean is not positive, so that it has no logarithm. A resample with such a mean counts
        as an exponent of minus and of plus infinity; if there are many, the interval is infinite.

    Examples
    --------
    >>> x = np.array([1.0, 2, 4, 8])
    >>> fitted = fit_exponent(x, np.linspace(0.9, 1.1, 10)[:, None] * 3 * x**1.5)
    >>> str(fitted.interval), [round(slope, 6) for slope in fitted.local]
    ('1.5 [1.5, 1.5]', [1.5, 1.5, 1.5])
    """
    x, table = np.asarray(x, float), np.asarray(table, float)
    means, draws = table.mean(axis=0), resample_means(table)
    if means.min() <= 0:
        raise ValueError(f"The means of the measurements must be positive, got {means}.")
    log_x, log_means = np.log(x), np.log(means)
    weights = slope_weights(log_x)
    estimate, undefined = float(log_means @ weights), draws.min(axis=1) <= 0
    slopes = np.log(np.where(undefined[:, None], 1.0, draws)) @ weights
    low, high = (
        bootstrap_interval(estimate, np.where(undefined, bound, slopes), len(table))
        for bound in (-FAR, FAR)
    )
    interval = Interval(
        estimate,
        low.low if low.low > -FAR / 2 else -math.inf,
        high.high if high.high < FAR / 2 else math.inf,
    )
    local = np.diff(log_means) / np.diff(log_x)
    return Exponent(interval, r_squared(log_x, log_means), tuple(local.tolist()))
