"""Intervals and straight lines for quantities that share their seeds.

A table has one row for each seed and one column for each quantity. Seeds are resampled as whole
rows, so whatever is computed from several columns is paired.
"""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from belated.episode import Floats

RESAMPLES: Final = 10_000
LEVEL: Final = 0.95

FEWEST: Final = 5
"""Seeds below which an interval says little: that of three seeds covers three times in four."""


class Interval(NamedTuple):
    """An estimate, and where it lies with 95% confidence.

    >>> str(Interval(1.5, -0.25, 3))
    '1.5 [-0.25, 3]'
    """

    estimate: float
    low: float
    high: float

    @property
    def above(self) -> bool:
        """Whether it is positive beyond doubt."""
        return self.low > 0

    @property
    def below(self) -> bool:
        """Whether it is negative beyond doubt."""
        return self.high < 0

    def __str__(self) -> str:
        return f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}]"


class Line(NamedTuple):
    """The straight line of least squares."""

    slope: float
    intercept: float
    r2: float  # nan if all values are the same


@lru_cache(maxsize=8)
def shares(seeds: int) -> Floats:
    """(RESAMPLES, seeds) how much of each resample every seed is; always the same numbers."""
    if seeds < FEWEST:
        raise ValueError(f"seeds is {seeds}; an interval needs at least {FEWEST}.")
    rng = np.random.default_rng((1, seeds))
    drawn = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=RESAMPLES) / seeds
    drawn.flags.writeable = False
    return drawn


def resampled(table: Floats) -> Floats:
    """The column means of each resample of the rows, (RESAMPLES, columns)."""
    return shares(table.shape[0]) @ table


def tail(seeds: int) -> float:
    """How much of the resamples to cut at either end.

    Percentiles of the bootstrap are too narrow for few seeds; this widens them so that for
    normal data they agree with Student's interval (Hesterberg 2015, "expanded percentiles").

    >>> round(tail(10_000), 4), round(tail(30), 4), round(tail(5), 4)
    (0.025, 0.0188, 0.001)
    """
    student = float(special.stdtrit(seeds - 1, (1 + LEVEL) / 2))
    return float(special.ndtr(-math.sqrt(seeds / (seeds - 1)) * student))


def interval(estimate: float, draws: Floats, seeds: int) -> Interval:
    """The interval of a statistic, given its values in the resamples of so many seeds."""
    cut = tail(seeds)
    low, high = np.quantile(draws, [cut, 1 - cut])
    return Interval(float(estimate), float(low), float(high))


def mean_interval(values: Floats) -> Interval:
    """Of the mean of one value for each seed, such as a paired difference."""
    return interval(values.mean(), resampled(values), values.size)


def excess(values: Floats, reference: Floats) -> Interval:
    """Of mean(values) / mean(reference) - 1; the reference is positive for every seed."""
    draws = resampled(np.column_stack([values, reference]))
    estimate = values.mean() / reference.mean() - 1
    return interval(estimate, draws[:, 0] / draws[:, 1] - 1, values.size)


def line(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit y = intercept + slope x.

    >>> line([0, 1, 2], [1, 3, 5])
    Line(slope=2.0, intercept=1.0, r2=1.0)
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    slope = float(y @ slope_of(x))
    intercept = float(y.mean() - slope * x.mean())
    total = float(((y - y.mean()) ** 2).sum())
    left = float(((y - intercept - slope * x) ** 2).sum())
    return Line(slope, intercept, 1 - left / total if total > 0 else math.nan)


def slope_of(x: ArrayLike) -> Floats:
    """w such that y @ w is the slope of the line through (x, y)."""
    x = np.asarray(x, float)
    if np.unique(x).size < 2:
        raise ValueError(f"x is {x}; a line needs at least 2 different points.")
    gap = x - x.mean()
    return gap / (gap @ gap)


def bend_of(x: ArrayLike) -> Floats:
    """w such that y @ w is the quadratic term of the parabola through (x, y)."""
    x = np.asarray(x, float)
    if np.unique(x).size < 3:
        raise ValueError(f"x is {x}; a parabola needs at least 3 different points.")
    unit = float(np.abs(x).max())  # so that the three columns are of one size
    columns = np.vander(x / unit, 3, increasing=True)
    row: Floats = np.linalg.pinv(columns)[2] / unit**2
    return row
