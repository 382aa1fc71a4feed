"""Learners in memory: one for each problem, kept up to date with a ledger."""

import logging
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

from belated.ledger.audit import find_event_fault
from belated.ledger.events import EXCLUDING_KINDS, Event, Exclusions
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.online.fold import DamagedEventError, Fold
from belated.online.snapshot_codec import decode_state, encode_state
from belated.online.status import Failure, ProblemStatus
from belated.theory.lemmas import psi

LOG: Final = logging.getLogger("belated.service")

FOLD_BYTES: Final = 100_000
"""Approximate memory in bytes of a fold without its learner and without episodes in flight.

It is used for Python objects and for the bins of the history."""

EPISODE_BYTES: Final = 1_000
"""Approximate memory in bytes of an episode in flight, in the fold and in the learner together."""

FEEDBACK_BYTES: Final = 1_000
"""Approximate memory in bytes of one feedback event that is queued until the next tick."""

SNAPSHOT_EVERY_EVENTS: Final = 10_000
"""Default number of events to apply between two snapshots."""

RELEASE_SNAPSHOT_EVENTS: Final = 100
"""Number of events applied since the last snapshot from which on another snapshot is saved before a
learner is released."""


class Summary(NamedTuple):
    """Numbers about a problem. Computing them takes no longer if more episodes are in flight."""

    missing: int
    """Number of episodes in flight, excluding lost episodes."""
    lost: int
    """Number of lost episodes, which are not in flight."""
    mean_delay: float
    """Mean delay of the feedback so far, in episodes; too low while episodes are in flight, see
    `Learner.mean_delay`."""
    episodes: int
    """Number of episodes K of the specification."""
    failure_probability: float
    """Probability delta in the formulas of the base."""

    @classmethod
    def of(cls, fold: Fold) -> "Summary":
        """Return the summary of a problem from `fold`, the state computed from its events."""
        learner, lost = fold.learner, fold.lost
        mean_delay = learner.mean_delay_without(lost.values())
        missing = learner.missing - len(lost)
        return cls(missing, len(lost), mean_delay, fold.spec.episodes, learner.failure_probability)

    @property
    def psi(self) -> float:
        """Upper bound ψ on the number of episodes in flight, as in the status of a learner."""
        return psi(self.mean_delay, self.episodes, self.failure_probability)


class Follower:
    """Fold of one problem in memory, and reader that applies new events to it.

    After a correction or withdrawal, the fold is computed again from the last snapshot before the
    affected events, or from the first event. A follower writes
    nothing to the ledger except snapshots. Threads that share a follower must hold its `lock`.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    problem : Problem
        Problem whose events are read.
    """

    def __init__(self, ledger: Ledger, problem: Problem) -> None:
        self.problem = problem
        self.lock = threading.Lock()
        self.seq = 0
        """Sequence number up to which `catch_up` has tried to read the events of the ledger."""
        self.fold: Fold | None = None
        """Fold that `catch_up` returned last; None if the next call has to compute it anew."""
        self.failure: Failure | None = None
        """Error because of which the events of the problem cannot be applied; None if they can."""
        self.status: ProblemStatus | None = None
        """Last computed status. None if no status has been requested, or if the learner was
        released after the last request."""
        self.summary: Summary | None = None
        """Last computed summary; None until the problem is folded for the first time."""
        self._ledger = ledger
        self._events_since_snapshot = 0

    def catch_up(self) -> Fold:
        """Read and apply new events up to the end of the ledger, and return the fold.

        Raises DamagedEventError if an event cannot be applied or does not match its digest; the
        message contains the seq of the event. If the method raises an exception, the fold is
        discarded, and the next call computes it from the newest usable snapshot or from the first
        event.

        The digests of corrections and withdrawals are always checked. The digests of other events
        are checked only when the fold is computed anew. New events are applied without this check,
        which takes time, since they were recorded recently and are hardly ever damaged. The content
        of feedback is always checked, since compiled code does not.
        """
        fold, self.fold = self.fold, None
        self.seq = upto = self._ledger.last
        is_new = fold is None or any(self._read_excluding(fold.seq, upto))
        if fold is None or is_new:
            fold = self._start(upto)
        for event in self._ledger.events(self.problem.id, after=fold.seq, upto=upto):
            if is_new:
                _check(event)
            fold.apply(event)
            self._events_since_snapshot += 1
        self.fold = fold
        return fold

    def save(self, *, every: int = SNAPSHOT_EVERY_EVENTS) -> bool:
        """Save a snapshot if at least `every` events were applied since the last snapshot.

        The number of applied events must also be at least half the number of episodes in flight,
        since a snapshot contains all episodes in flight. Returns whether a snapshot was saved.
        """
        if self.fold is None:
            return False
        if self._events_since_snapshot < max(1, every, len(self.fold.in_flight) // 2):
            return False
        self._events_since_snapshot = 0
        data = encode_state(self.fold.snapshot())
        return self._ledger.snapshots.save(self.problem.id, self.fold.seq, data)

    def release(self, *, save: bool) -> None:
        """Discard the fold to free its memory; the next `catch_up` computes the same fold again.

        If `save` is True, the method `save` is called first, with `RELEASE_SNAPSHOT_EVENTS` as the
        minimum number of events since the last snapshot.
        """
        if save:
            self.save(every=RELEASE_SNAPSHOT_EVENTS)
        self.fold = self.status = None

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
        for event in self._ledger.events(
            self.problem.id, after=after, upto=upto, kinds=EXCLUDING_KINDS
        ):
            _check(event)
            yield event


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


class LearnerCache:
    """Learners of all problems in memory, as long as they fit into a limit.

    If they need more memory, the least recently used ones are released, and computed again when
    they are used. The learner that was used last is never released. Several threads may share an
    instance.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    limit_bytes : int or None
        Maximum memory of all learners together, in bytes; None for no limit.
    """

    def __init__(self, ledger: Ledger, limit_bytes: int | None) -> None:
        if limit_bytes is not None and limit_bytes < 0:
            raise ValueError(f"memory_limit_bytes must be at least 0, got {limit_bytes}.")
        self.followers: dict[int, Follower] = {}
        """Map from the id of each problem that has been used to its follower."""
        self._ledger = ledger
        self._limit_bytes = limit_bytes
        self._sizes: dict[int, int] = {}  # of learners in memory, least recently used first

    def get(self, problem: Problem) -> Follower:
        """Return the follower of `problem`, whose learner may not be in memory yet."""
        return self.followers.setdefault(problem.id, Follower(self._ledger, problem))

    def note_use(self, follower: Follower, fold: Fold) -> None:
        """Store the summary of `fold` in `follower`, and note that the learner was used now."""
        follower.summary = Summary.of(fold)
        if self._limit_bytes is not None:
            self._sizes.pop(follower.problem.id, None)
            self._sizes[follower.problem.id] = (
                FOLD_BYTES
                + EPISODE_BYTES * len(fold.in_flight)
                + FEEDBACK_BYTES * len(fold.waiting)
                + fold.learner.nbytes
            )

    def release_unused(self, *, save: bool) -> None:
        """Release the least recently used learners until the others fit into the limit.

        Learners that another thread is using are not released. `save` is as in `Follower.release`.
        """
        if self._limit_bytes is None:
            return
        sizes = list(self._sizes.items())
        total = sum(size for _, size in sizes)
        for id, size in sizes[:-1]:
            if total <= self._limit_bytes:
                break
            total -= size
            follower = self.followers[id]
            if follower.lock.acquire(blocking=False):
                try:
                    follower.release(save=save)
                    self._sizes.pop(id, None)
                finally:
                    follower.lock.release()
