"""Followers, which keep folds of problems up to date with a ledger, and the memory they need."""

import gc
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from belated.ledger.audit import find_event_fault
from belated.ledger.events import EXCLUDING_KINDS, Event, Exclusions
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.online.fold import DamagedEventError, Fold
from belated.online.snapshot_codec import decode_state, encode_state

FOLD_BYTES: Final = 100_000
"""Approximate memory in bytes of a fold without its learner and without episodes in flight.

It is used for Python objects and for the bins of the history."""

EPISODE_BYTES: Final = 1_000
"""Approximate memory in bytes of an episode in flight, in the fold and in the learner together."""

FEEDBACK_BYTES: Final = 1_000
"""Approximate memory in bytes of one feedback event that is queued until the next tick."""


def estimate_bytes(fold: Fold) -> int:
    """Return the approximate memory of `fold` in bytes."""
    episodes = EPISODE_BYTES * fold.missing + FEEDBACK_BYTES * fold.waiting
    return FOLD_BYTES + fold.learner.nbytes + episodes


class LearnerMemory:
    """Record of the sizes of the learners in memory, in the order in which they were last used.

    It determines the learners to release if the sum of the sizes exceeds a limit. Several threads
    may share an instance.

    Parameters
    ----------
    limit_bytes : int or None
        Maximum sum of the sizes, in bytes; None for no limit.

    Examples
    --------
    >>> memory = LearnerMemory(100)
    >>> for id, size in ((1, 40), (2, 40), (3, 40), (1, 40)):
    ...     memory.add(id, size)
    >>> memory.excess()
    [2]
    """

    def __init__(self, limit_bytes: int | None) -> None:
        if limit_bytes is not None and limit_bytes < 0:
            raise ValueError(f"memory_limit_bytes must be at least 0, got {limit_bytes}.")
        self._limit_bytes = limit_bytes
        self._sizes: dict[int, int] = {}  # by id of the problem, least recently used first
        self._lock = threading.Lock()

    @property
    def is_limited(self) -> bool:
        """Whether the sum of the sizes is limited."""
        return self._limit_bytes is not None

    def add(self, problem: int, size_bytes: int) -> None:
        """Note that the learner of `problem`, an id, was used now and has the size `size_bytes`."""
        with self._lock:
            self._sizes.pop(problem, None)
            self._sizes[problem] = size_bytes

    def remove(self, problem: int) -> None:
        """Note that the learner of `problem`, an id, is not in memory any more."""
        with self._lock:
            self._sizes.pop(problem, None)

    def excess(self) -> list[int]:
        """Return the ids of the problems whose learners must be released to respect the limit.

        They are the least recently used learners, beginning with the one that has not been used for
        the longest time. The learner that was used last is never included.
        """
        if self._limit_bytes is None:
            return []
        with self._lock:
            total, found = sum(self._sizes.values()), []
            for problem, size in list(self._sizes.items())[:-1]:
                if total <= self._limit_bytes:
                    break
                found.append(problem)
                total -= size
            return found


LOG: Final = logging.getLogger("belated.service")

SNAPSHOT_EVERY_EVENTS: Final = 10_000
"""Default number of events to apply between two snapshots."""

RELEASE_SNAPSHOT_EVENTS: Final = 100
"""Number of events applied since the last snapshot from which on another snapshot is saved before a
learner is released."""


class Follower:
    """Reader that applies the new events of a problem to its fold.

    If a correction or withdrawal affects events that were already applied, the fold is computed
    again from the last snapshot before those events, or from the first event. A follower writes
    nothing to the ledger except snapshots. It is not thread-safe.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    problem : Problem
        Problem whose events are read.
    """

    def __init__(self, ledger: Ledger, problem: Problem) -> None:
        self.problem = problem
        self.seq = 0
        """Sequence number up to which the events of the ledger have been read."""
        self._ledger = ledger
        self._fold: Fold | None = None
        self._events_since_snapshot = 0

    @property
    def fold(self) -> Fold | None:
        """Fold that `catch_up` returned last; None if the next call has to compute it anew."""
        return self._fold

    def catch_up(self, upto: int | None = None) -> Fold:
        """Read and apply new events up to seq `upto`, by default up to the end of the ledger.

        Returns the fold. Raises DamagedEventError if an event cannot be applied or does not match
        its digest; the message contains the seq of the event. If the method raises an exception,
        the fold is discarded, and the next call computes it from the newest usable snapshot or from
        the first event.

        The digests of corrections and withdrawals are always checked. The digests of other events
        are checked only when the fold is computed anew. New events are applied without this check,
        which takes time, since they were recorded recently and are hardly ever damaged. The learner
        checks the ranges of all content, since compiled code does not.
        """
        upto = self._ledger.last if upto is None else upto
        fold, self._fold = self._fold, None
        is_new = fold is None or upto < self.seq or not self._exclude_new(fold, upto)
        if fold is None or is_new:
            fold = self._start(upto)
        with _collection_paused():
            for event in self._ledger.events(self.problem.id, after=fold.seq, upto=upto):
                if is_new:
                    _check(event)
                fold.apply(event)
                self._events_since_snapshot += 1
        self._fold, self.seq = fold, upto
        return fold

    def save(self, *, every: int = SNAPSHOT_EVERY_EVENTS) -> bool:
        """Save a snapshot if at least `every` events were applied since the last snapshot.

        The number of applied events must also be at least half the number of episodes in flight,
        since a snapshot contains all episodes in flight. Returns whether a snapshot was saved.
        """
        if self._fold is None:
            return False
        if self._events_since_snapshot < max(1, every, self._fold.missing // 2):
            return False
        self._events_since_snapshot = 0
        data = encode_state(self._fold.snapshot())
        return self._ledger.snapshots.save(self.problem.id, self._fold.seq, data)

    def release(self, *, save: bool) -> None:
        """Discard the fold to free its memory; the next `catch_up` computes the same fold again.

        If `save` is True, the method `save` is called first, with `RELEASE_SNAPSHOT_EVENTS` as the
        minimum number of events since the last snapshot.
        """
        if save:
            self.save(every=RELEASE_SNAPSHOT_EVENTS)
        self._fold = None

    def _exclude_new(self, fold: Fold, upto: int) -> bool:
        """Make `fold` skip the events that are affected by new corrections and withdrawals.

        Only corrections and withdrawals up to seq `upto` are read. Returns False if the fold has
        already used one of the events to skip and must be computed again, else True.
        """
        for event in self._read_excluding(fold.seq, upto):
            if fold.is_undone_by(event, _first_opening_seq(self._ledger, event)):
                return False
            fold.exclude(event)
        return True

    def _start(self, upto: int) -> Fold:
        self._events_since_snapshot = 0
        problem = self.problem
        snapshot = self._ledger.snapshots.newest(problem.id, upto=upto)
        if snapshot is not None:
            new = list(self._read_excluding(snapshot.seq, upto))
            try:
                fold = Fold.restore(problem.spec, decode_state(snapshot.data), Exclusions(new))
                if fold.seq != snapshot.seq:
                    raise ValueError(f"It contains the state at seq {fold.seq}.")
            except Exception as error:
                LOG.warning(
                    "Problem %s: the snapshot at seq %d is ignored, and all events are folded: %s",
                    *(problem.name, snapshot.seq, error),
                )
            else:
                return fold
        return Fold(problem.spec, Exclusions(self._read_excluding(0, upto)))

    def _read_excluding(self, after: int, upto: int) -> Iterator[Event]:
        """Yield the corrections and withdrawals with `after` < seq <= `upto`, after checking them.

        Raises DamagedEventError if one of them is damaged.
        """
        for event in read_excluding_events(self._ledger, self.problem.id, after, upto):
            _check(event)
            yield event


def read_excluding_events(
    ledger: Ledger, problem: int, after: int = 0, upto: int | None = None
) -> Iterator[Event]:
    """Return an iterator over the corrections and withdrawals of a problem, in order of seq.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    problem : int
        Id of the problem.
    after, upto : int
        Read only events with `after` < seq <= `upto`. If `upto` is None, there is no upper limit.

    Returns
    -------
    iterator of Event
        The corrections and withdrawals.
    """
    return ledger.events(problem, after=after, upto=upto, kinds=EXCLUDING_KINDS)


def _check(event: Event) -> None:
    """Raise DamagedEventError if `event` is damaged.

    An event is damaged if it does not match its digest, or if it is a withdrawal that does not list
    the withdrawn episodes.
    """
    fault = find_event_fault(event)
    if fault is not None:
        raise DamagedEventError(event.seq, fault)
    if event.kind == "withdrawn":
        ids = event.body.get("episodes") if isinstance(event.body, dict) else None
        if not isinstance(ids, list) or not ids or not all(isinstance(id, str) for id in ids):
            raise DamagedEventError(event.seq, "It must name the withdrawn episodes.")


def _first_opening_seq(ledger: Ledger, event: Event) -> int:
    """Return the seq of the opening of the first episode that `event` corrects or withdraws.

    Returns 0 if the ledger does not contain this episode.
    """
    # a withdrawal lists its episodes in order of number
    id = event.body["episodes"][0] if event.kind == "withdrawn" else event.episode
    episode = ledger.episode(str(id))
    return 0 if episode is None else episode.seq


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause Python's search for reference cycles.

    Applying events creates many objects and no cycles; with many events, the search takes about a
    quarter of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
