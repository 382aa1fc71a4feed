"""Status of a problem: numbers about its learner, its episodes in flight and its history."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np

from belated.learner.in_flight import Status
from belated.online.fold import Fold
from belated.online.history import MICROSECONDS_PER_SECOND, HistoryView
from belated.survival.estimate import DelayEstimate, estimate_from_counts

AGE_LIMITS_S: Final = (
    *(60, 600, 3600, 6 * 3600, 86400),
    *(3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400),
)
"""Age limits in seconds; for each limit, a status contains the number of younger episodes."""


class Failure(NamedTuple):
    """Failure of a problem: error that occurred when its events were applied to its learner."""

    problem: str
    """Name of the problem."""
    reason: str
    seq: int
    """Sequence number of the last event in the ledger when the events were read."""


@dataclass(frozen=True, eq=False)
class ProblemStatus:
    """Status of a problem, computed from its events up to `seq`."""

    seq: int
    """Sequence number of the last event that the status includes."""
    waiting: int
    """Number of feedback events that are queued until the next tick."""
    lost: int
    """Number of lost episodes, which are not in flight."""
    opened_at: list[int] = field(repr=False)
    """Times at which the episodes in flight were opened, in order of arrival, in microseconds since
    1970 (UTC)."""
    recorded_at: list[int] = field(repr=False)
    """Times at which the openings of the episodes in flight were recorded, in order of arrival, in
    microseconds since 1970 (UTC)."""
    lost_opened_at: list[int] = field(repr=False)
    """Times at which the lost episodes were opened, in microseconds since 1970 (UTC)."""
    learner: Status
    """Status of the learner."""
    updates: int
    """Number of plans that the learner has computed, excluding the first one."""
    epochs: int
    """Number of plans that the learner has computed, including the first one."""
    alpha: float
    """Parameter alpha of lazy updating in the current epoch; infinite for other updaters."""
    history: HistoryView = field(repr=False)
    """Statistics of opened and returned episodes, for intervals of time and for versions of the
    policy."""

    @classmethod
    def of(cls, fold: Fold) -> "ProblemStatus":
        """Return the status of a problem from `fold`, the state computed from its events."""
        learner, lost = fold.learner, fold.lost
        expected = [episode for id, episode in fold.in_flight.items() if id not in lost]
        return cls(
            seq=fold.seq,
            waiting=len(fold.waiting),
            lost=len(lost),
            opened_at=[episode.opened_at for episode in expected],
            recorded_at=[episode.recorded_at for episode in expected],
            lost_opened_at=[fold.in_flight[id].opened_at for id in lost],
            learner=learner.status_without(
                {fold.in_flight[id].number: opened for id, opened in lost.items()}
            ),
            updates=learner.updates,
            epochs=learner.epochs,
            alpha=learner.alpha,
            history=fold.history.view(),
        )

    def lateness_s(self, *, now: int) -> DelayEstimate:
        """Return the Kaplan-Meier estimate of the delay in seconds, by event time.

        Episodes in flight, including lost ones, count as not back at their age at the time `now`,
        which is in microseconds since 1970 (UTC).
        """
        ages = now - np.array([*self.opened_at, *self.lost_opened_at], np.int64)
        scale = float(MICROSECONDS_PER_SECOND)
        return estimate_from_counts(self.history.delays, ages, unit="seconds", scale=scale)


def summarize_ages(opened_at: Sequence[int], *, now: int) -> dict[str, Any]:
    """Return the largest age, the median age and a distribution of ages of episodes in flight.

    Parameters
    ----------
    opened_at : sequence of int
        Opening times of the episodes, in microseconds since 1970 (UTC). The age of an episode is 0
        if its opening time is after `now`.
    now : int
        Time to which the ages refer, in microseconds since 1970 (UTC).

    Returns
    -------
    dict
        "oldest" and "median" are the largest and the median age in seconds, or None if there are
        no episodes. "counts" maps each limit in `AGE_LIMITS_S`, as a text, to the number of
        episodes whose age is below the limit, and "inf" to the number of all episodes.

    Examples
    --------
    >>> summarize_ages([0, 40_000_000], now=70_000_000)["counts"]["60"]
    1
    """
    ages = [max(0, now - at) / 1e6 for at in opened_at]
    counts = {str(limit): sum(age < limit for age in ages) for limit in AGE_LIMITS_S}
    return {
        "oldest": max(ages, default=None),
        "median": median(ages) if ages else None,
        "counts": counts | {"inf": len(ages)},
    }
