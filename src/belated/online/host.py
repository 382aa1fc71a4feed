"""Host: thread that applies the events of a ledger to its learners, and publishes policies.

The state computed from the events of a problem is called its fold. If several hosts use one ledger,
only the host that holds the planner lock plans. When its process ends, another host acquires the
lock. If a broken connection lets two hosts plan at the same time, the results are still correct:
both apply the same ticks and compute the same policies, and the ledger accepts versions only in
order. The lock only avoids duplicate work.
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
"""Default number of seconds between two polls of the ledger for new events."""

MAX_POLL_INTERVAL_S: Final = 86400.0

LOCK_TIMEOUT_S: Final = 0.2
"""Maximum time in seconds to wait for a busy learner before the last status is returned."""

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """Failure of a problem: error that occurred when its events were applied to its learner."""

    problem: str
    """Name of the problem."""
    reason: str
    seq: int
    """Sequence number of the last event in the ledger at the time of the failure."""


@dataclass
class ProblemState:
    """State that a host keeps for one problem."""

    follower: Follower
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Lock that a thread holds while it uses the follower."""
    failure: Failure | None = None
    """Failure of the problem; None if its events could be applied."""
    settled_seq: int = 0
    """Sequence number up to which all events have been applied, and policies published."""
    status: ProblemStatus | None = None
    """Last computed status; None until a status is requested."""


class Host:
    """Learners of all problems of a ledger, and a thread that updates them and publishes policies.

    A failure of one problem does not affect the others. The problem is retried after the next
    correction or withdrawal of its data.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    interval : float
        Seconds between two polls of the ledger; see `wake` for a poll without waiting.
    snapshot_every : int
        Number of events to apply between two snapshots.
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
        """Whether a poll has been completed since the host last acquired or lost the planner lock.

        If the host never held the lock, a completed poll since its start is sufficient. After such
        a poll, all learners are up to date, or another host plans. False if the thread has ended.
        """
        return self._ready and (self._thread is None or self._thread.is_alive())

    @property
    def last_error(self) -> str | None:
        """Message of the error of the last poll; None if the poll succeeded."""
        return self._last_error

    @property
    def failures(self) -> dict[int, Failure]:
        """Failures of the problems whose events cannot be applied, by id of the problem."""
        states = list(self._states.items())
        damaged = {
            id: Failure(f"problem {id}", reason, id)
            for id, reason in self._ledger.damaged_problems.items()
        }
        return damaged | {id: state.failure for id, state in states if state.failure is not None}

    def step(self) -> bool:
        """Poll the ledger once, and return whether this host holds the planner lock.

        If this host holds the lock, it processes each problem: it applies the new events, records a
        tick if a tick is due, and publishes the policy if the policy has changed.
        """
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
        """Return the status of `problem`, or its failure if its events cannot be applied.

        The planner lock is not required. While the learner is busy, the last computed status is
        returned. This status may be stale; its `seq` is the seq of the last event that it includes.
        If no status has been computed yet, the method waits for the learner.
        """
        state = self._state(problem)
        found = self._find_status(state, timeout=-1 if state.status is None else LOCK_TIMEOUT_S)
        assert found is not None
        return found

    def status_nowait(self, problem: Problem) -> ProblemStatus | Failure | None:
        """Return the status or the failure of `problem` as `status` does, without a long wait.

        Returns None if the learner is busy and no status has been computed yet.
        """
        return self._find_status(self._state(problem), timeout=LOCK_TIMEOUT_S)

    def start(self) -> None:
        """Start the thread, which polls the ledger until `stop` is called."""
        if self._thread is not None:
            raise RuntimeError("The host has been started already.")
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="belated-host", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Make the thread poll the ledger without waiting for the end of the interval."""
        with self._wakeup:
            self._woken = True
            self._wakeup.notify()

    def stop(self) -> None:
        """Stop the thread at the end of its current poll, and release the planner lock."""
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
        """Apply new events to the learner in `state`, and publish its policy if it has changed.

        The caller must hold `state.lock`.
        """
        end = self._ledger.last

        def advance() -> None:
            fold = fold_and_publish(self._ledger, state.follower)
            # only if a status was requested before, since it takes time for each episode in flight
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
            failure = self._failure(state)  # stored by the thread that held the lock until now
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
        """Return the failure in `state`, or None.

        The failure is cleared if a correction or withdrawal was recorded later, since this may have
        removed the cause of the failure.
        """
        failure = state.failure
        if failure is not None:
            id = state.follower.problem.id
            if any(read_excluding_events(self._ledger, id, after=failure.seq)):
                failure = state.failure = None
        return failure

    def _catch_failure(self, state: ProblemState, seq: int, action: Callable[[], T]) -> T | Failure:
        """Return the result of `action`, or a failure if it raises an exception.

        The failure is stored in `state` together with `seq`, the seq of the last event of the
        ledger. Exceptions that indicate an unavailable database are not caught.
        """
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
