"""Tests of whether lateness depends on what an episode is, on its return or on when it was opened.

- Groups that are known for every episode, such as the arm: log-rank test over all episodes.
- Groups that are known only from feedback, such as the first action: log-rank test among complete
  cohorts. Among younger episodes, the groups that return early would be overrepresented.
- Return, the sum of the rewards: Spearman's rank correlation of delay and return, in complete
  cohorts.
- Drift: log-rank test between each two consecutive cohorts of equal size, by order of opening.

A cohort is complete if it is so old that 99 % of what returns at all is back, by the Kaplan-Meier
estimate. The p-values of all tests together are adjusted by the method of Holm (1979), so that
under independence the chance of any rejection is at most the level.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.episode import Bools, Floats, Ints
from belated.survival.kaplan_meier import Estimate

MIN_GROUP: Final = 20
"""Number of episodes below which groups are joined, and a test is not made."""

MAX_GROUPS: Final = 20
"""Number of groups of one test; the smallest others are joined."""

RESAMPLES: Final = 1000
"""Number of bootstrap samples for the interval of a rank correlation."""


@dataclass(frozen=True)
class DependenceTest:
    """Result of one test of independence."""

    about: str
    """Property on which lateness may depend: a grouping such as "first action", or "return", or
    "drift" with the numbers of two cohorts."""
    method: str
    """Name of the test."""
    episodes: int = 0
    """Number of episodes that the test used."""
    p: float | None = None
    """p-value; None if the test cannot be made yet."""
    adjusted_p: float | None = None
    """p-value after Holm's adjustment for all tests made."""
    correlation: Estimate | None = None
    """Rank correlation of delay and return with a bootstrap interval; None for other tests."""
    reason: str = ""
    """Why the test cannot be made yet; empty if it was made."""

    def rejects(self, level: float = 0.05) -> bool:
        """Return whether independence is rejected at this `level`, for all tests together."""
        return self.adjusted_p is not None and self.adjusted_p <= level


@dataclass(frozen=True, eq=False)
class Cohorts:
    """Episodes in order of opening, as the tests need them."""

    durations: Floats
    """Delay of each episode that is back, and age of each other one."""
    returned: Bools
    """Whether each episode is back."""
    complete: Bools | None
    """Whether each episode belongs to a complete cohort; None if that cannot be told yet."""


NOT_COMPLETE: Final = "no cohort is known to be complete yet"


def compare_groups(cohorts: Cohorts, name: str, labels: NDArray[Any]) -> DependenceTest:
    """Test whether lateness differs between groups.

    Parameters
    ----------
    cohorts : Cohorts
        The episodes.
    name : str
        Name of the grouping.
    labels : array of object
        Group of each episode; None if it is unknown.

    Returns
    -------
    DependenceTest
        Log-rank test, restricted to complete cohorts if the group of any episode is unknown.
    """
    known = np.array([label is not None for label in labels], np.bool_)
    method, used = "log-rank", known
    if not known.all():
        if cohorts.complete is None:
            return DependenceTest(name, method, reason=NOT_COMPLETE)
        method, used = "log-rank, complete cohorts", known & cohorts.complete
    groups = _number_groups(labels[used])
    if groups.size == 0 or groups.max() == 0:
        reason = f"there are not two groups of {MIN_GROUP} episodes"
        return DependenceTest(name, method, reason=reason)
    p = log_rank(cohorts.durations[used], cohorts.returned[used], groups)
    return DependenceTest(name, method, int(used.sum()), p)


def log_rank(durations: Floats | Ints, returned: Bools, groups: Ints) -> float:
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
    float
        p-value: probability of such differences if all groups have the same distribution; 1 if
        nothing can differ.

    Examples
    --------
    >>> days = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    >>> log_rank(days, np.full(8, True), np.repeat([0, 1], 4)) < 0.01
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
        return 1.0
    statistic = float(excess @ np.linalg.pinv(covariance) @ excess)
    return float(stats.chi2.sf(statistic, count - 1))


def correlate_return(
    cohorts: Cohorts, returns: Floats, *, seed: int, resamples: int = RESAMPLES
) -> DependenceTest:
    """Test whether lateness is related to the return, in complete cohorts.

    Parameters
    ----------
    cohorts : Cohorts
        The episodes.
    returns : array
        Return of each episode; NaN if unknown.
    seed : int
        Seed of the bootstrap.
    resamples : int
        Number of bootstrap samples.

    Returns
    -------
    DependenceTest
        Spearman's rank correlation, with its percentile bootstrap interval.
    """
    from scipy import stats

    name, method = "return", "Spearman, complete cohorts"
    if cohorts.complete is None:
        return DependenceTest(name, method, reason=NOT_COMPLETE)
    used = cohorts.complete & cohorts.returned & ~np.isnan(returns)
    delays, values = cohorts.durations[used], returns[used]
    if used.sum() < MIN_GROUP or np.ptp(delays) == 0 or np.ptp(values) == 0:
        what = f"{MIN_GROUP} episodes with different delays and returns in complete cohorts"
        return DependenceTest(name, method, reason=f"there are not {what}")
    found = stats.spearmanr(delays, values)
    interval = _bootstrap_interval(delays, values, np.random.default_rng(seed), resamples)
    correlation = Estimate(float(found.statistic), *interval)
    return DependenceTest(
        name, method, int(used.sum()), float(found.pvalue), correlation=correlation
    )


def compare_cohorts(cohorts: Cohorts, number: int) -> list[DependenceTest]:
    """Test whether lateness differs between consecutive cohorts of equal size.

    The episodes must be in order of opening. `number` is the number of cohorts. Returns one
    log-rank test for each two neighbours.
    """
    count = cohorts.durations.size
    if count < number * MIN_GROUP:
        reason = f"there are not {number} cohorts of {MIN_GROUP} episodes"
        return [DependenceTest("drift", "log-rank", reason=reason)]
    parts = np.array_split(np.arange(count), number)
    tests = []
    for i, (one, other) in enumerate(pairwise(parts), start=1):
        used = np.concatenate([one, other])
        groups = np.repeat([0, 1], [one.size, other.size])
        p = log_rank(cohorts.durations[used], cohorts.returned[used], groups)
        tests.append(DependenceTest(f"drift, cohort {i} to {i + 1}", "log-rank", used.size, p))
    return tests


def adjust(tests: Sequence[DependenceTest]) -> tuple[DependenceTest, ...]:
    """Return `tests` with p-values adjusted by Holm's method over those that were made.

    >>> made = [DependenceTest("a", "log-rank", p=0.01), DependenceTest("b", "log-rank", p=0.2)]
    >>> [test.adjusted_p for test in adjust(made)]
    [0.02, 0.2]
    """
    made = sorted((test.p, i) for i, test in enumerate(tests) if test.p is not None)
    adjusted: dict[int, float] = {}
    largest = 0.0
    for rank, (p, i) in enumerate(made):
        largest = max(largest, min(1.0, (len(made) - rank) * p))
        adjusted[i] = largest
    return tuple(replace(test, adjusted_p=adjusted.get(i)) for i, test in enumerate(tests))


def _number_groups(labels: NDArray[Any]) -> Ints:
    """Return the number of the group of each of `labels`, joining the groups that are small."""
    names, places, sizes = np.unique(labels.astype(str), return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    large = [i for i in order[: MAX_GROUPS - 1].tolist() if sizes[i] >= MIN_GROUP]
    numbers = np.full(names.size, len(large))
    numbers[large] = np.arange(len(large))
    groups = numbers[places]
    rest = groups == len(large)
    if rest.sum() < MIN_GROUP and large:
        groups = np.where(rest, len(large) - 1, groups)
    result: Ints = groups.astype(np.int64)
    return result


def _bootstrap_interval(
    x: Floats, y: Floats, rng: np.random.Generator, resamples: int
) -> tuple[float, float]:
    """Return the 95 % percentile interval of the rank correlation of `x` and `y`."""
    levels = [np.unique(values, return_inverse=True)[1] for values in (x, y)]
    found = np.empty(resamples)
    for b in range(resamples):
        weights = np.bincount(rng.integers(x.size, size=x.size), minlength=x.size)
        ranks = []
        for level in levels:
            counts = np.bincount(level, weights)
            # ranks of the resample, ties having their mean rank
            ranks.append((np.cumsum(counts) - (counts - 1) / 2)[level])
        ranks = [rank - np.average(rank, weights=weights) for rank in ranks]
        x_y, x_x, y_y = ((weights * ranks[i] * ranks[j]).sum() for i, j in ((0, 1), (0, 0), (1, 1)))
        found[b] = x_y / np.sqrt(x_x * y_y) if x_x * y_y else 0.0
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
