"""Host: thread that applies the events of a ledger to its learners, and publishes policies.

The state computed from the events of a problem is called its fold. If several hosts use one ledger,
only the host that holds the planner lock plans. When its process ends, another host acquires the
lock. If a broken connection lets two hosts plan at the same time, the results are still correct:
both apply the same ticks and compute the same policies, and the ledger accepts versions only in
order. The lock is only necessary to avoid duplicate work.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Self, TypeVar

from belated.ledger.kinds import Tick
from belated.ledger.ledger import Ledger
from belated.ledger.outages import LOCK_TIMEOUT, OutageLog, describe_outage
from belated.ledger.policies import encode_policy
from belated.ledger.problems import Problem
from belated.ledger.store import OUTAGES
from belated.online.fold import Fold
from belated.online.follower import (
    SNAPSHOT_EVERY_EVENTS,
    Follower,
    LearnerMemory,
    estimate_bytes,
    read_excluding_events,
)
from belated.online.lock import PlannerLock, create_lock
from belated.online.status import ProblemStatus, Summary


def publish_if_changed(ledger: Ledger, problem: int, fold: Fold) -> None:
    """Publish the policy of a problem if it differs from the newest published version.

    Parameters
    ----------
    ledger : Ledger
        Ledger in which the new version is recorded.
    problem : int
        Id of the problem.
    fold : Fold
        State computed from the events of the problem. Its policy is published.
    """
    newest = ledger.policies.newest(problem)
    if newest is None or newest.sha != encode_policy(fold.policy).sha:
        version = 1 if newest is None else newest.version + 1
        ledger.publish(problem, fold.policy, version=version, tick=fold.tick)


POLL_INTERVAL_S: Final = 1.0
"""Default number of seconds between two polls of the ledger for new events."""

MAX_POLL_INTERVAL_S: Final = 86400.0

BACKLOG_PROBLEMS_PER_POLL: Final = 100
"""Maximum number of problems without new events that one poll folds for the first time."""

PROBLEMS_PER_TRANSACTION: Final = 100
"""Maximum number of problems whose ticks are recorded in one transaction."""

MAX_LOCK_TIMEOUTS: Final = 3
"""Maximum number of successive polls that may time out while they wait for the lock of the writers.

These polls are repeated without an error message, since neither the store nor a problem is at
fault. Further timeouts are reported."""

LOCK_TIMEOUT_S: Final = 0.2
"""Maximum time in seconds to wait for a busy learner; after it, the last status is returned."""

T = TypeVar("T")

LOG: Final = logging.getLogger("belated.host")


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
    """Error because of which the events of the problem cannot be applied; None if they can be."""
    status: ProblemStatus | None = None
    """Last computed status. None if no status has been requested, or if the learner was released
    after the last request."""
    summary: Summary | None = None
    """Last computed summary; None until the problem is folded for the first time."""


class Host:
    """Learners of all problems of a ledger, and a thread that updates them and publishes policies.

    A failure of one problem does not affect the others. The problem is retried after the next
    correction or withdrawal of its data.

    The first polls fold every problem once, beginning with the problem that has the latest event.
    Later polls process only the problems that have new events.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    interval : float
        Seconds between two polls of the ledger. The method `wake` starts a poll without waiting.
    snapshot_every : int
        Number of events to apply between two snapshots.
    memory_limit_bytes : int, optional
        Maximum memory of all learners together, in bytes; None for no limit. If the learners need
        more, the least recently used ones are released at the end of a poll, after a snapshot. They
        are computed again when they are used. The learner that was used last is never released.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        interval: float = POLL_INTERVAL_S,
        snapshot_every: int = SNAPSHOT_EVERY_EVENTS,
        memory_limit_bytes: int | None = None,
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
        self._memory = LearnerMemory(memory_limit_bytes)
        self._states: dict[int, ProblemState] = {}
        self._polled_seq: int | None = None  # last event of the ledger at the last poll
        # ids of problems to process, in order: with new events, and without (dicts as ordered sets)
        self._changed: dict[int, None] = {}
        self._backlog: dict[int, None] = {}
        # times at which ticks are due without new events, in microseconds, by id of the problem
        self._due_at: dict[int, int] = {}
        self._wakeup = threading.Condition()  # guards the next two
        self._woken = self._stopping = False
        self._thread: threading.Thread | None = None
        self._plans = self._ready = False
        self._last_error: str | None = None
        self._lock_timeouts = 0  # in succession
        self.outages = OutageLog("fold")
        """Log of the polls that failed because the store is unavailable."""
        self._has_polled = False
        self._folded_seq: int | None = None  # last event at the last completed poll
        self._folded_at = time.monotonic()

    @property
    def plans(self) -> bool:
        """Whether this host holds the planner lock."""
        return self._plans

    @property
    def ready(self) -> bool:
        """Whether the host has completed a poll since it last acquired or lost the planner lock.

        If the host has neither acquired nor lost the lock since its start, any completed poll is
        sufficient. If it holds the lock, it must also have folded every problem once. A host that
        is ready has either brought all policies up to date, or leaves planning to another host. A
        host whose thread has ended is not ready.
        """
        return self._ready and (self._thread is None or self._thread.is_alive())

    @property
    def last_error(self) -> str | None:
        """Message of the error of the last poll; None if the poll succeeded."""
        return self._last_error

    @property
    def failures(self) -> dict[int, Failure]:
        """Map from the id of each problem whose events cannot be applied to its failure."""
        states = list(self._states.items())
        failures = {id: state.failure for id, state in states if state.failure is not None}
        return self._undefined() | failures

    @property
    def summaries(self) -> list[tuple[str, Summary | Failure | None]]:
        """Name of each problem that this host has processed, with its failure or last summary.

        The second item of a pair is None for a problem that is being folded for the first time.
        Neither learners nor the ledger are accessed.
        """
        states = list(self._states.values())
        known = [(state.follower.problem.name, state.failure or state.summary) for state in states]
        return known + [(failure.problem, failure) for failure in self._undefined().values()]

    @property
    def seconds_since_fold(self) -> float:
        """Seconds since the last poll that applied all new events; NaN if another host plans."""
        return time.monotonic() - self._folded_at if self._plans else math.nan

    @property
    def oldest_unfolded_age_s(self) -> float:
        """Age in seconds of the oldest event that the last completed poll did not include.

        The value is 0 if there is no such event. It is NaN if another host plans, if the store is
        unavailable, or if some problem has not been folded since the start.
        """
        if not self._plans or self._folded_seq is None:
            return math.nan
        try:
            event = next(self._ledger.events(after=self._folded_seq, limit=1), None)
        except OUTAGES:
            return math.nan
        return 0.0 if event is None else max(0.0, (self._ledger.store.now() - event.at) / 1e6)

    def step(self) -> bool:
        """Poll the ledger once, and return whether this host holds the planner lock.

        If this host holds the lock, it processes the problems that have new events: it applies the
        events, records a tick if a tick is due, and publishes the policy if the policy has changed.
        In the first polls, it also processes some of the other problems.
        """
        plans = self._planner_lock.acquire()
        if self._has_polled and plans != self._plans:
            change = "acquired" if plans else "lost"
            LOG.warning("Planner lock %s.", change, extra={"event": f"planner_lock_{change}"})
        self._has_polled = True
        self._ready = self._ready and plans == self._plans
        self._plans = plans
        if plans:
            end = self._find_changed()
            ids = [*self._changed, *islice(self._backlog, BACKLOG_PROBLEMS_PER_POLL)]
            for first in range(0, len(ids), PROBLEMS_PER_TRANSACTION):
                self._process(ids[first : first + PROBLEMS_PER_TRANSACTION])
            if not self._backlog:
                self._folded_seq, self._folded_at = end, time.monotonic()
        self._release_unused()
        self._ready = not (plans and self._backlog)
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
        """Return the status or the failure of `problem` as `status` does, but without waiting long.

        If the learner is busy for more than `LOCK_TIMEOUT_S` seconds, the last computed status is
        returned, or None if no status has been computed yet.
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
            pause_s = self._interval
            try:
                if self.step() and self._backlog:
                    pause_s = 0
                self._last_error = None
                self._lock_timeouts = 0
                self.outages.succeeded()
            except Exception as error:  # the database may be available at the next poll
                if self._is_contention(error):
                    continue
                message = f"{type(error).__name__}: {error}"
                if isinstance(error, OUTAGES):
                    self.outages.failed(error)
                elif message != self._last_error:
                    LOG.error("Poll of the ledger failed: %s.", type(error).__name__)
                self._last_error = message
            with self._wakeup:
                self._wakeup.wait_for(lambda: self._woken or self._stopping, pause_s)
                self._woken = False

    def _is_contention(self, error: Exception) -> bool:
        """Return whether to repeat the poll that failed with `error` without an error message.

        This is the case if `error` is a lock timeout and one of the first `MAX_LOCK_TIMEOUTS` in
        succession. Each call with a lock timeout is counted.
        """
        if not isinstance(error, OUTAGES) or describe_outage(error).reason != LOCK_TIMEOUT:
            return False
        self._lock_timeouts += 1
        return self._lock_timeouts <= MAX_LOCK_TIMEOUTS

    def _find_changed(self) -> int:
        """Queue the problems that have new events since the last poll.

        At the first poll, all problems are queued, and at every poll those whose updater requires a
        plan at a time that has passed. Returns the seq of the last event of the ledger.
        """
        end = self._ledger.last
        if self._polled_seq is None:
            self._backlog = dict.fromkeys(self._ledger.problem_ids())
        elif self._polled_seq < end:
            changed = self._ledger.changed_problems(after=self._polled_seq, upto=end)
            self._changed |= dict.fromkeys(changed)
        if self._due_at:
            now = self._ledger.store.now()
            self._changed |= dict.fromkeys(id for id, at in self._due_at.items() if at <= now)
        self._polled_seq = end
        return end

    def _undefined(self) -> dict[int, Failure]:
        """Return a dict that maps the id of each problem with a damaged definition to a failure."""
        damaged = self._ledger.damaged_problems
        return {id: Failure(f"problem {id}", reason, id) for id, reason in damaged.items()}

    def _process(self, ids: Sequence[int]) -> None:
        """Apply the new events of the problems `ids`, and publish the policies that have changed.

        The ticks that are due are recorded in one transaction, since only one process can write at
        a time.
        """
        states = [state for state in map(self._usable_state, ids) if state is not None]
        due = {state.follower.problem.id for state in states if self._is_due(state)}
        self._ledger.append([Tick(id) for id in sorted(due)])
        for state in states:
            if state.failure is None:
                with state.lock:
                    self._advance(state, is_due=state.follower.problem.id in due)
        for id in ids:
            self._changed.pop(id, None)
            self._backlog.pop(id, None)

    def _usable_state(self, id: int) -> ProblemState | None:
        """Return the state of the problem `id`.

        Returns None if the definition of the problem is missing or damaged, or if the problem
        cannot be folded because of an earlier failure.
        """
        try:
            problem = self._ledger.problem(id)
        except ValueError:  # its definition is damaged; see `failures`
            return None
        if problem is None:  # the event with its definition is missing
            return None
        state = self._state(problem)
        return state if self._failure(state) is None else None

    def _is_due(self, state: ProblemState) -> bool:
        """Apply new events to the learner in `state`, and return whether a tick is due."""
        assert self._polled_seq is not None

        def is_due() -> bool:
            fold = state.follower.catch_up()
            return fold.due or (fold.due_at is not None and fold.due_at <= self._ledger.store.now())

        with state.lock:
            found = self._catch_failure(state, self._polled_seq, is_due)
        return found is True

    def _release_unused(self) -> None:
        """Release the least recently used learners until the others fit into the memory limit.

        Learners that another thread is using are not released.
        """
        for id in self._memory.excess():
            state = self._states[id]
            if not state.lock.acquire(blocking=False):  # in use
                continue
            try:
                state.follower.release(save=self._plans)
                state.status = None
                self._memory.remove(id)
            finally:
                state.lock.release()

    def _state(self, problem: Problem) -> ProblemState:
        if problem.id not in self._states:
            state = ProblemState(Follower(self._ledger, problem))
            self._states.setdefault(problem.id, state)  # another thread may have been faster
        return self._states[problem.id]

    def _advance(self, state: ProblemState, *, is_due: bool) -> None:
        """Publish the policy of the learner in `state` if it has changed.

        If `is_due` is True, a tick has been recorded, and new events are applied first. The caller
        must hold `state.lock`.
        """

        def advance() -> None:
            fold = None if is_due else state.follower.fold
            fold = fold or state.follower.catch_up()
            id = state.follower.problem.id
            publish_if_changed(self._ledger, id, fold)
            self._due_at.pop(id, None)
            if fold.due_at is not None:
                self._due_at[id] = fold.due_at
            # only if a status was requested before, since it takes time for each episode in flight
            if state.status is not None:
                state.status = ProblemStatus.of(fold)
            state.follower.save(every=self._snapshot_every)
            self._note_use(state, fold)

        assert self._polled_seq is not None
        self._catch_failure(state, self._polled_seq, advance)

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

            def compute() -> ProblemStatus:
                fold = state.follower.catch_up()
                state.status = status = ProblemStatus.of(fold)
                self._note_use(state, fold)
                return status

            return self._catch_failure(state, self._ledger.last, compute)
        finally:
            state.lock.release()

    def _note_use(self, state: ProblemState, fold: Fold) -> None:
        """Store the summary of `fold` in `state`, and note that the learner was used now."""
        state.summary = Summary.of(fold)
        if self._memory.is_limited:
            self._memory.add(state.follower.problem.id, estimate_bytes(fold))

    def _failure(self, state: ProblemState) -> Failure | None:
        """Return the failure of the problem in `state`; None if there is none.

        If a correction or withdrawal was recorded after the failure, the failure is cleared, since
        its cause may have been removed.
        """
        failure = state.failure
        if failure is not None:
            id = state.follower.problem.id
            if any(read_excluding_events(self._ledger, id, after=failure.seq)):
                failure = state.failure = None
                name = state.follower.problem.name
                LOG.warning(
                    "Problem %s is folded again after a correction or withdrawal.",
                    name,
                    extra={"event": "problem_retried", "problem": name},
                )
        return failure

    def _catch_failure(self, state: ProblemState, seq: int, action: Callable[[], T]) -> T | Failure:
        """Call `action` and return its result; if it raises an exception, return a failure.

        The failure is also stored in `state`. It contains `seq`, the seq of the last event of the
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
            name = state.follower.problem.name
            state.failure = Failure(name, reason, seq)
            # without the message of the error, which may contain personal data
            LOG.error(
                "Problem %s cannot be folded: %s at seq %d.",
                name,
                type(error).__name__,
                seq,
                extra={"event": "problem_failed", "problem": name, "seq": seq},
            )
            return state.failure
