"""Status of a problem: episodes in flight and their opening times, plans, and history."""

from dataclasses import dataclass, field

from belated.learner.status import Status
from belated.online.fold import Fold
from belated.online.history import HistoryView


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
