"""Status of a problem: numbers about its learner, its episodes in flight and its history."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from belated.learner.register import Status
from belated.online.fold import Fold
from belated.online.history import MICROSECONDS_PER_SECOND, HistoryView
from belated.survival.estimate import DelayEstimate, estimate_from_counts


class Summary(NamedTuple):
    """Numbers about a problem. Computing them takes no longer if more episodes are in flight."""

    missing: int
    """Number of episodes in flight, excluding lost episodes."""
    lost: int
    """Number of lost episodes, which are not in flight."""
    psi: float
    """Upper bound ψ on the number of episodes in flight, as in `Status` of a learner."""
    mean_delay: float
    """Mean delay of the feedback so far, in episodes; too low while episodes are in flight, see
    `belated.learner.register.Status.mean_delay`."""

    @classmethod
    def of(cls, fold: Fold) -> "Summary":
        """Return the summary of a problem from `fold`, the state computed from its events."""
        mean_delay, psi = fold.mean_delay_and_psi()
        return cls(fold.learner.missing - fold.lost, fold.lost, psi, mean_delay)


@dataclass(frozen=True, eq=False)
class ProblemStatus:
    """Status of a problem, computed from its events up to `seq`."""

    seq: int
    """Sequence number of the last event that the status includes."""
    tick: int | None
    """Sequence number of the last tick, which ended a batch; None if there was no tick."""
    waiting: int
    """Number of feedback events that are queued until the next tick."""
    lost: int
    """Number of lost episodes, which are not in flight."""
    opened_at: tuple[int, ...] = field(repr=False)
    """Times at which the episodes in flight were opened, in order of arrival, in microseconds since
    1970 (UTC)."""
    recorded_at: tuple[int, ...] = field(repr=False)
    """Times at which the openings of the episodes in flight were recorded, in order of arrival, in
    microseconds since 1970 (UTC)."""
    lost_opened_at: tuple[int, ...] = field(repr=False)
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
        learner = fold.learner
        return cls(
            seq=fold.seq,
            tick=fold.tick,
            waiting=fold.waiting,
            lost=fold.lost,
            opened_at=tuple(fold.opened_at),
            recorded_at=tuple(fold.recorded_at),
            lost_opened_at=tuple(fold.lost_opened_at),
            learner=fold.status,
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
