"""Host: folds all problems of a ledger in a thread, and publishes their policies.

Of several hosts on one ledger, one plans; the others wait for its lock, and one of them takes over
when it dies. If two hosts plan at the same time because a connection broke, they fold the same
ticks and publish the same policies: the lock saves work, and the ledger keeps the order.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Self, TypeVar

from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.ledger.store import OUTAGES
from belated.online.follower import SNAPSHOT_EVERY_EVENTS, Follower, read_excluding_events
from belated.online.lock import PlannerLock, create_lock
from belated.online.publishing import fold_and_publish
from belated.online.status import ProblemStatus

POLL_INTERVAL_S: Final = 1.0
"""Seconds between two polls for events that other processes have recorded."""

MAX_POLL_INTERVAL_S: Final = 86400.0

LOCK_TIMEOUT_S: Final = 0.2
"""Maximum time to wait for a busy learner if an earlier status can be returned."""

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """Error because of which a problem cannot be folded."""

    problem: str
    """Name of the problem."""
    reason: str
    seq: int
    """Sequence number of the last event of the ledger at the time of the failure."""


@dataclass
class ProblemState:
    """Everything a host keeps for one problem."""

    follower: Follower
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the follower is used."""
    failure: Failure | None = None
    """Why the problem cannot be folded, if so."""
    settled_seq: int = 0
    """Sequence number up to which everything has been folded and published."""
    status: ProblemStatus | None = None
    """Last status; None until one is requested."""


class Host:
    """Learners of all problems of a ledger, and a thread that folds and publishes.

    A problem that fails does not affect the others; it is tried again after a correction or a
    withdrawal.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    interval : float
        Seconds between two polls of the ledger; `wake` makes the thread poll at once.
    snapshot_every : int
        Number of events to fold between two snapshots.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        interval: float = POLL_INTERVAL_S,
        snapshot_every: int = SNAPSHOT_EVERY_EVENTS,
    ) -> None:
        if not 0 < interval <= MAX_POLL_INTERVAL_S:
            raise ValueError(
                f"interval must be above 0 and at most {MAX_POLL_INTERVAL_S:g} seconds, "
                f"got {interval}."
            )
        self._ledger = ledger
        self._interval = interval
        self._snapshot_every = snapshot_every
        self._planner_lock: PlannerLock = create_lock(ledger.store)
        self._states: dict[int, ProblemState] = {}
        self._wakeup = threading.Condition()  # guards the next two
        self._woken = self._stopping = False
        self._thread: threading.Thread | None = None
        self._plans = self._ready = False
        self._last_error: str | None = None

    @property
    def plans(self) -> bool:
        """Whether this host holds the planner lock."""
        return self._plans

    @property
    def ready(self) -> bool:
        """Whether all problems have been folded once, or another host plans."""
        return self._ready and (self._thread is None or self._thread.is_alive())

    @property
    def last_error(self) -> str | None:
        """Error of the last poll; None if it succeeded."""
        return self._last_error

    @property
    def failures(self) -> dict[int, Failure]:
        """Failures of the problems that cannot be folded, by id."""
        states = list(self._states.items())
        return {id: state.failure for id, state in states if state.failure is not None}

    def step(self) -> bool:
        """Poll the ledger once: tick, fold and publish. Return whether this host plans."""
        plans = self._planner_lock.acquire()
        self._ready = self._ready and plans == self._plans
        self._plans = plans
        if plans:
            for problem in self._ledger.problems():
                state = self._state(problem)
                if self._failure(state) is None:
                    with state.lock:
                        self._advance(state)
        self._ready = True
        return plans

    def status(self, problem: Problem) -> ProblemStatus | Failure:
        """Return the status of `problem`, or why it cannot be folded; any host can do so.

        While the learner is busy, the last status is returned, whose `seq` shows its age. If none
        was requested before, this waits for the learner.
        """
        state = self._state(problem)
        found = self._find_status(state, timeout=-1 if state.status is None else LOCK_TIMEOUT_S)
        assert found is not None
        return found

    def status_nowait(self, problem: Problem) -> ProblemStatus | Failure | None:
        """Return the status of `problem` as `status` does, or None if that would have to wait."""
        return self._find_status(self._state(problem), timeout=LOCK_TIMEOUT_S)

    def start(self) -> None:
        """Start the thread, which polls the ledger until `stop`."""
        if self._thread is not None:
            raise RuntimeError("The host has been started already.")
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="belated-host", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Make the thread poll the ledger at once."""
        with self._wakeup:
            self._woken = True
            self._wakeup.notify()

    def stop(self) -> None:
        """Stop the thread after its current poll, and release the planner lock."""
        with self._wakeup:
            self._stopping = True
            self._wakeup.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._plans = self._ready = False
        self._planner_lock.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.step()
                self._last_error = None
            except Exception as error:  # the database may be available at the next poll
                self._last_error = f"{type(error).__name__}: {error}"
            with self._wakeup:
                self._wakeup.wait_for(lambda: self._woken or self._stopping, self._interval)
                self._woken = False

    def _state(self, problem: Problem) -> ProblemState:
        if problem.id not in self._states:
            state = ProblemState(Follower(self._ledger, problem))
            self._states.setdefault(problem.id, state)  # another thread may have been faster
        return self._states[problem.id]

    def _advance(self, state: ProblemState) -> None:
        """Fold and publish what is new; the caller holds the lock."""
        end = self._ledger.last

        def advance() -> None:
            fold = fold_and_publish(self._ledger, state.follower)
            # it visits all episodes in flight, so only if a status was requested before
            if state.status is not None:
                state.status = ProblemStatus.of(fold)
            state.follower.save(every=self._snapshot_every)
            state.settled_seq = end

        if state.settled_seq < end:
            self._catch_failure(state, end, advance)

    def _find_status(
        self, state: ProblemState, *, timeout: float
    ) -> ProblemStatus | Failure | None:
        failure = self._failure(state)
        if failure is not None:
            return failure
        if not state.lock.acquire(timeout=timeout):
            return state.status
        try:
            failure = self._failure(state)  # of the thread that held the lock until now
            if failure is not None:
                return failure
            found = self._catch_failure(
                state, self._ledger.last, lambda: ProblemStatus.of(state.follower.catch_up())
            )
            if isinstance(found, ProblemStatus):
                state.status = found
            return found
        finally:
            state.lock.release()

    def _failure(self, state: ProblemState) -> Failure | None:
        """Return the failure; None if a later correction or withdrawal may have resolved it."""
        failure = state.failure
        if failure is not None:
            id = state.follower.problem.id
            if any(read_excluding_events(self._ledger, id, after=failure.seq)):
                failure = state.failure = None
        return failure

    def _catch_failure(self, state: ProblemState, seq: int, action: Callable[[], T]) -> T | Failure:
        """Return the result of `action`; an exception is kept as a failure unless an outage."""
        try:
            return action()
        except OUTAGES:
            raise
        except Exception as error:
            reason = str(error)
            if not isinstance(error, ValueError):
                reason = f"{type(error).__name__}: {error}"
            state.failure = Failure(state.follower.problem.name, reason, seq)
            return state.failure
