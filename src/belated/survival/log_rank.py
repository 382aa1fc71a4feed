"""The log-rank test: whether durations have the same distribution in several groups."""

from typing import NamedTuple

import numpy as np

from belated.episode import Bools, Floats, Ints


class LogRank(NamedTuple):
    """Result of a log-rank test."""

    statistic: float
    """Chi-squared statistic."""
    freedom: int
    """Degrees of freedom: number of groups - 1."""
    p: float
    """Probability of such a statistic if all groups have the same distribution."""


def log_rank(durations: Floats | Ints, returned: Bools, groups: Ints) -> LogRank:
    """Test whether lateness is the same in all groups, some episodes being still in flight.

    At each time the returns of a group are compared with their expected number, given the returns
    of all groups and the numbers at risk (Mantel 1966, Peto and Peto 1972). With two groups, the
    statistic is the square of the one of `scipy.stats.logrank`, and p is the same.

    Parameters
    ----------
    durations : array
        Delay of each episode that is back, and age of each other one.
    returned : array of bool
        Whether the feedback of each episode is back.
    groups : array of int
        Number of the group of each episode, from 0; each group needs an episode.

    Returns
    -------
    LogRank
        Statistic, degrees of freedom and p-value; p is 1 if nothing can differ.

    Examples
    --------
    >>> days = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    >>> log_rank(days, np.full(8, True), np.repeat([0, 1], 4)).p < 0.01
    True
    """
    from scipy import stats

    times, places = np.unique(durations, return_inverse=True)
    count = int(groups.max()) + 1
    cells = places * count + groups
    size = times.size * count
    seen = np.bincount(cells, minlength=size).reshape(-1, count)
    back = np.bincount(cells[returned], minlength=size).reshape(-1, count)
    at_risk = np.cumsum(seen[::-1], axis=0)[::-1]
    # only times with returns, and with two episodes to compare, say anything
    useful = (back.sum(axis=1) > 0) & (at_risk.sum(axis=1) > 1)
    at_risk, back = at_risk[useful].astype(np.float64), back[useful]
    n, d = at_risk.sum(axis=1), back.sum(axis=1)
    share = at_risk / n[:, None]
    excess = (back - d[:, None] * share).sum(axis=0)[:-1]
    # hypergeometric covariance of the returns of each group
    factor = d * (n - d) / (n - 1)
    covariance = np.diag(factor @ share) - (share * factor[:, None]).T @ share
    covariance = covariance[:-1, :-1]
    if not covariance.any():
        return LogRank(0.0, count - 1, 1.0)
    statistic = float(excess @ np.linalg.pinv(covariance) @ excess)
    return LogRank(statistic, count - 1, float(stats.chi2.sf(statistic, count - 1)))
