"""Follower: the fold of a problem, kept up with a ledger."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from belated.ledger.episodes import UNDOING, Omissions
from belated.ledger.events import Event
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.online.fold import Fold
from belated.online.snapshots import pack, unpack

OFTEN: Final = 10_000
"""How many events to fold from one snapshot to the next."""


class Follower:
    """Reads what is new and folds it; begins anew where something that was folded is undone.

    It writes nothing but snapshots, and those only when told to.
    """

    def __init__(self, ledger: Ledger, problem: Problem) -> None:
        self.problem = problem
        self.seq = 0
        """Up to where the ledger has been read."""
        self._ledger = ledger
        self._fold: Fold | None = None
        self._since = 0  # events since the last snapshot
        self.busy = threading.RLock()
        """Held by whoever uses it, one at a time."""

    def catch_up(self, upto: int | None = None) -> Fold:
        """The fold of all events up to `upto`, or to the end of the ledger.

        If it raises, the next call begins anew.
        """
        upto = self._ledger.last if upto is None else upto
        fold, self._fold = self._fold, None
        if fold is None or upto < self.seq or not self._go_on(fold, upto):
            fold = self._begin(upto)
        for event in self._ledger.events(self.problem.id, after=fold.seq, upto=upto):
            fold.apply(event)
            self._since += 1
        self._fold, self.seq = fold, upto
        return fold

    def save(self, *, every: int = OFTEN) -> bool:
        """Keep a snapshot if so many events have been folded since the last one.

        Where many episodes are out, which all go into it, half as many events as these.
        """
        if self._fold is None or self._since < max(1, every, self._fold.missing // 2):
            return False
        self._since = 0
        data = pack(self._fold.snapshot())
        return self._ledger.snapshots.save(self.problem.id, self._fold.seq, data)

    def _go_on(self, fold: Fold, upto: int) -> bool:
        """Make the fold ready for what is new; False if it has to begin anew."""
        new = undoing(self._ledger, self.problem.id, after=fold.seq, upto=upto)
        for event in new:
            if fold.undone_by(event, first_opened(self._ledger, event)):
                return False
            fold.expect(event)
        return True

    def _begin(self, upto: int) -> Fold:
        self._since = 0
        problem = self.problem
        snapshot = self._ledger.snapshots.newest(problem.id, upto=upto)
        if snapshot is not None:
            new = undoing(self._ledger, problem.id, after=snapshot.seq, upto=upto)
            with suppress(Exception):  # whatever is wrong with it, the events tell the same
                return Fold.restore(problem.spec, unpack(snapshot.data), Omissions(new))
        return Fold(problem.spec, Omissions(undoing(self._ledger, problem.id, upto=upto)))


def undoing(
    ledger: Ledger, problem: int, *, after: int = 0, upto: int | None = None
) -> Iterator[Event]:
    """The events that undo others."""
    return ledger.events(problem, after=after, upto=upto, kinds=UNDOING)


def first_opened(ledger: Ledger, event: Event) -> int:
    """The seq at which the first episode was opened that an undoing event speaks of."""
    # a withdrawal names its episodes by number
    id = event.body["episodes"][0] if event.kind == "withdrawn" else event.episode
    episode = ledger.episode(str(id))
    return 0 if episode is None else episode.seq
