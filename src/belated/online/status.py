"""Standing: where a problem stands, as far as its events have been folded."""

from dataclasses import dataclass, field

from belated.learner.status import Status
from belated.online.fold import Fold
from belated.online.history import Past


@dataclass(frozen=True, eq=False)
class Standing:
    """What is missing now, and what has been made of the rest."""

    seq: int
    """Of the last event that was folded."""
    tick: int | None
    """Of the last tick."""
    waiting: int
    """Pieces of feedback that have come since, and wait for the next one."""
    opened: tuple[int, ...] = field(repr=False)
    """When the episodes were opened that are not back, oldest first."""
    status: Status
    """As the learner sees it."""
    updates: int
    """Plans made after the first one."""
    epochs: int
    """Plans made, the first one included."""
    alpha: float
    """Of the current epoch under Lazy; inf otherwise."""
    past: Past = field(repr=False)
    """What was opened and came back, by time and by version."""

    @classmethod
    def of(cls, fold: Fold) -> "Standing":
        """Of a fold, as it is."""
        learner = fold.learner
        return cls(
            seq=fold.seq,
            tick=fold.tick,
            waiting=fold.waiting,
            opened=tuple(fold.opened),
            status=learner.status,
            updates=learner.updates,
            epochs=learner.epochs,
            alpha=learner.alpha,
            past=fold.history.past(),
        )
