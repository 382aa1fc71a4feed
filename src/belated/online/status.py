"""Status of a problem: episodes in flight and their opening times, plans, and history."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from belated.learner.status import Status
from belated.online.fold import Fold
from belated.online.history import HistoryView

AGE_LIMITS_S: Final = (
    *(60, 600, 3600, 6 * 3600, 86400),
    *(3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400),
)
"""Limits of age, in seconds, below which episodes in flight are counted."""


@dataclass(frozen=True, eq=False)
class ProblemStatus:
    """Status of a problem as of the last event that was folded."""

    seq: int
    """Sequence number of the last event that was folded."""
    tick: int | None
    """Sequence number of the last tick."""
    waiting: int
    """Number of pieces of feedback that wait for the next tick."""
    opened_at: tuple[int, ...] = field(repr=False)
    """Opening times of the episodes in flight, oldest first, in microseconds since 1970 (UTC)."""
    learner: Status
    """Status of the learner."""
    updates: int
    """Number of plans after the first one."""
    epochs: int
    """Number of plans, including the first one."""
    alpha: float
    """The alpha of the current epoch under Lazy; inf otherwise."""
    history: HistoryView = field(repr=False)
    """Episodes opened and returned, by time and by version."""

    @classmethod
    def of(cls, fold: Fold) -> "ProblemStatus":
        """Return the present status of `fold`."""
        learner = fold.learner
        return cls(
            seq=fold.seq,
            tick=fold.tick,
            waiting=fold.waiting,
            opened_at=tuple(fold.opened_at),
            learner=learner.status,
            updates=learner.updates,
            epochs=learner.epochs,
            alpha=learner.alpha,
            history=fold.history.view(),
        )


def summarize_ages(opened_at: Sequence[int], *, now: int) -> dict[str, Any]:
    """Return the ages of episodes in flight: the oldest, the median, and counts below limits.

    Parameters
    ----------
    opened_at : sequence of int
        Opening times of the episodes, in microseconds since 1970 (UTC).
    now : int
        Time to which the ages refer, in microseconds since 1970 (UTC).

    Returns
    -------
    dict
        "oldest" and "median" in seconds, or None without episodes; "counts" by limit in seconds.

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
