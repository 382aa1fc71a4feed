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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import filelock
import sqlalchemy as sa

from belated.ledger.events import EXCLUDING_KINDS, Invalid
from belated.ledger.kinds import Tick
from belated.ledger.ledger import Ledger
from belated.ledger.outages import LOCK_TIMEOUT, OutageLog, describe_outage
from belated.ledger.policies import encode_policy
from belated.ledger.problems import Problem
from belated.ledger.store import OUTAGES, Store, is_in_memory
from belated.online.fold import Fold
from belated.online.learner_cache import (
    SNAPSHOT_EVERY_EVENTS,
    Follower,
    LearnerCache,
    Summary,
)
from belated.online.status import Failure, ProblemStatus

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

LOG: Final = logging.getLogger("belated.host")


PLANNER_LOCK_ID: Final = int.from_bytes(b"planner", "big")
"""Id of the PostgreSQL advisory lock that the planning host holds."""


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
        self._planner_lock = create_lock(ledger.store)
        self.learners = LearnerCache(ledger, memory_limit_bytes)
        """Learners of all problems that have been used."""
        self._polled_seq: int | None = None  # last event of the ledger at the last poll
        # ids of problems to process, in order (a dict as an ordered set)
        self._queue: dict[int, None] = {}
        # times at which ticks are due without new events, in microseconds, by id of the problem
        self._due_at: dict[int, int] = {}
        self._wakeup = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._ready = False
        self.plans = False
        """Whether this host holds the planner lock."""
        self.last_error: str | None = None
        """Message of the error of the last poll; None if the poll succeeded."""
        self._lock_timeouts = 0  # in succession
        self.outages = OutageLog("fold")
        """Log of the polls that failed because the store is unavailable."""
        self._has_polled = False
        self._folded_seq: int | None = None  # last event at the last completed poll
        self._folded_at = time.monotonic()

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
    def failures(self) -> dict[int, Failure]:
        """Map from the id of each problem whose events cannot be applied to its failure."""
        followers = list(self.learners.followers.items())
        failures = {id: each.failure for id, each in followers if each.failure is not None}
        return self._undefined() | failures

    @property
    def summaries(self) -> list[tuple[str, Summary | Failure | None]]:
        """Name of each problem that this host has processed, with its failure or last summary.

        The second item of a pair is None for a problem that is being folded for the first time.
        Neither learners nor the ledger are accessed.
        """
        followers = list(self.learners.followers.values())
        known = [(each.problem.name, each.failure or each.summary) for each in followers]
        return known + [(failure.problem, failure) for failure in self._undefined().values()]

    @property
    def seconds_since_fold(self) -> float:
        """Seconds since the last poll that applied all new events; NaN if another host plans."""
        return time.monotonic() - self._folded_at if self.plans else math.nan

    @property
    def oldest_unfolded_age_s(self) -> float:
        """Age in seconds of the oldest event that the last completed poll did not include.

        The value is 0 if there is no such event. It is NaN if another host plans, if the store is
        unavailable, or if some problem has not been folded since the start.
        """
        if not self.plans or self._folded_seq is None:
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
        if self._has_polled and plans != self.plans:
            change = "acquired" if plans else "lost"
            LOG.warning("Planner lock %s.", change, extra={"event": f"planner_lock_{change}"})
        self._has_polled = True
        self._ready = self._ready and plans == self.plans
        self.plans = plans
        if plans:
            changed = self._queue_changed()
            ids = list(self._queue)[: changed + BACKLOG_PROBLEMS_PER_POLL]
            for first in range(0, len(ids), PROBLEMS_PER_TRANSACTION):
                self._process(ids[first : first + PROBLEMS_PER_TRANSACTION])
            if not self._queue:
                self._folded_seq, self._folded_at = self._polled_seq, time.monotonic()
        self.learners.release_unused(save=plans)
        self._ready = not (plans and self._queue)
        return plans

    def status(self, problem: Problem) -> ProblemStatus | Failure | None:
        """Return the status of `problem`, or its failure if its events cannot be applied.

        The planner lock is not required. If the learner is busy for more than `LOCK_TIMEOUT_S`
        seconds, the last computed status is returned, or None if no status has been computed yet.
        This status may be stale; its `seq` is the seq of the last event that it includes.
        """
        follower = self.learners.get(problem)
        if not self._has_failed(follower) and follower.lock.acquire(timeout=LOCK_TIMEOUT_S):
            try:
                # the thread that held the lock until now may have failed
                if not self._has_failed(follower):
                    with self._catching_failure(follower):
                        fold = follower.catch_up()
                        follower.status = ProblemStatus.of(fold)
                        self.learners.note_use(follower, fold)
            finally:
                follower.lock.release()
        return follower.failure or follower.status

    def start(self) -> None:
        """Start the thread, which polls the ledger until `stop` is called."""
        if self._thread is not None:
            raise RuntimeError("The host has been started already.")
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="belated-host", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Make the thread poll the ledger without waiting for the end of the interval."""
        self._wakeup.set()

    def stop(self) -> None:
        """Stop the thread at the end of its current poll, and release the planner lock."""
        self._stopping = True
        self._wakeup.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.plans = self._ready = False
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
                if self.step() and self._queue:
                    pause_s = 0
                self.last_error = None
                self._lock_timeouts = 0
                self.outages.succeeded()
            except Exception as error:  # the database may be available at the next poll
                if self._is_contention(error):
                    continue
                message = f"{type(error).__name__}: {error}"
                if isinstance(error, OUTAGES):
                    self.outages.failed(error)
                elif message != self.last_error:
                    LOG.error("Poll of the ledger failed: %s.", type(error).__name__)
                self.last_error = message
            self._wakeup.wait(pause_s)
            self._wakeup.clear()  # the next poll follows, so no call of `wake` is lost

    def _is_contention(self, error: Exception) -> bool:
        """Return whether to repeat the poll that failed with `error` without an error message.

        This is the case if `error` is a lock timeout and one of the first `MAX_LOCK_TIMEOUTS` in
        succession. Each call with a lock timeout is counted.
        """
        if not isinstance(error, OUTAGES) or describe_outage(error).reason != LOCK_TIMEOUT:
            return False
        self._lock_timeouts += 1
        return self._lock_timeouts <= MAX_LOCK_TIMEOUTS

    def _queue_changed(self) -> int:
        """Put the problems that have new events since the last poll in front of the queue.

        At the first poll, all problems are queued, and at every poll those whose updater requires a
        plan at a time that has passed. Returns the number of problems put in front.
        """
        end, changed = self._ledger.last, []
        if self._polled_seq is None:
            self._queue = dict.fromkeys(self._ledger.problem_ids())
        elif self._polled_seq < end:
            changed += self._ledger.changed_problems(after=self._polled_seq, upto=end)
        if self._due_at:
            now = self._ledger.store.now()
            changed += [id for id, at in self._due_at.items() if at <= now]
        self._queue = dict.fromkeys(changed) | self._queue
        self._polled_seq = end
        return len(changed)

    def _undefined(self) -> dict[int, Failure]:
        """Return a dict that maps the id of each problem with a damaged definition to a failure."""
        damaged = self._ledger.damaged_problems
        return {id: Failure(f"problem {id}", reason, id) for id, reason in damaged.items()}

    def _process(self, ids: Sequence[int]) -> None:
        """Apply the new events of the problems `ids`, and publish the policies that have changed.

        The ticks that are due are recorded in one transaction, since only one process can write at
        a time.
        """
        followers = [each for each in map(self._find_follower, ids) if each is not None]
        due = {each.problem.id for each in followers if self._is_due(each)}
        self._ledger.append([Tick(id) for id in sorted(due)])
        for follower in followers:
            if follower.failure is None:
                self._advance(follower, is_due=follower.problem.id in due)
        for id in ids:
            self._queue.pop(id, None)

    def _find_follower(self, id: int) -> Follower | None:
        """Return the follower of the problem `id`.

        Returns None if the definition of the problem is missing or damaged, or if the problem
        cannot be folded because of an earlier failure.
        """
        try:
            problem = self._ledger.problem(id)
        except ValueError:  # its definition is damaged; see `failures`
            return None
        if problem is None:  # the event with its definition is missing
            return None
        follower = self.learners.get(problem)
        return None if self._has_failed(follower) else follower

    def _is_due(self, follower: Follower) -> bool:
        """Apply new events to the learner of `follower`, and return whether a tick is due."""
        with follower.lock, self._catching_failure(follower):
            fold = follower.catch_up()
            return fold.due or (fold.due_at is not None and fold.due_at <= self._ledger.store.now())
        return False

    def _advance(self, follower: Follower, *, is_due: bool) -> None:
        """Publish the policy of the learner of `follower` if it has changed.

        If `is_due` is True, a tick has been recorded, and new events are applied first.
        """
        with follower.lock, self._catching_failure(follower):
            fold = None if is_due else follower.fold
            fold = fold or follower.catch_up()
            id = follower.problem.id
            self._publish_if_changed(id, fold)
            self._due_at.pop(id, None)
            if fold.due_at is not None:
                self._due_at[id] = fold.due_at
            # only if a status was requested before, since it takes time for each episode in flight
            if follower.status is not None:
                follower.status = ProblemStatus.of(fold)
            follower.save(every=self._snapshot_every)
            self.learners.note_use(follower, fold)

    def _publish_if_changed(self, problem: int, fold: Fold) -> None:
        """Publish the policy of `fold` unless it equals the newest published version of `problem`.

        Another host that plans at the same time may be faster. The ledger then rejects the version,
        and this host continues with the events of the other one. Raises ValueError if the ledger
        rejects the policy itself.
        """
        newest = self._ledger.policies.newest(problem)
        if newest is not None and newest.sha == encode_policy(fold.policy).sha:
            return
        version = 1 if newest is None else newest.version + 1
        outcome = self._ledger.publish(problem, fold.policy, version=version, tick=fold.tick)
        if isinstance(outcome, Invalid) and outcome.field == "policy":
            raise ValueError(f"The policy cannot be published. {outcome.reason}")

    def _has_failed(self, follower: Follower) -> bool:
        """Return whether the events of the problem of `follower` cannot be applied.

        If a correction or withdrawal was recorded after the failure, the failure is cleared, since
        its cause may have been removed.
        """
        failure, problem = follower.failure, follower.problem
        if failure is None:
            return False
        if not any(self._ledger.events(problem.id, after=failure.seq, kinds=EXCLUDING_KINDS)):
            return True
        follower.failure = None
        LOG.warning(
            "Problem %s is folded again after a correction or withdrawal.",
            problem.name,
            extra={"event": "problem_retried", "problem": problem.name},
        )
        return False

    @contextmanager
    def _catching_failure(self, follower: Follower) -> Iterator[None]:
        """Store an exception that is raised in the context as the failure of `follower`.

        Exceptions that indicate an unavailable database are not caught.
        """
        try:
            yield
        except OUTAGES:
            raise
        except Exception as error:
            reason = str(error)
            if not isinstance(error, ValueError):
                reason = f"{type(error).__name__}: {error}"
            name = follower.problem.name
            follower.failure = Failure(name, reason, follower.seq)
            # without the message of the error, which may contain personal data
            LOG.error(
                "Problem %s cannot be folded: %s at seq %d.",
                name,
                type(error).__name__,
                follower.seq,
                extra={"event": "problem_failed", "problem": name, "seq": follower.seq},
            )


def create_lock(store: Store) -> "PlannerLock":
    """Return the planner lock of the ledger in `store`, not yet acquired."""
    url = store.engine.url
    if store.on_postgres:
        return DatabaseLock(store.engine)
    return PlannerLock() if is_in_memory(url) else FileLock(Path(f"{url.database}.planner"))


class PlannerLock:
    """Lock that lets only one host per ledger plan.

    The lock is held until it is released, or until the process or the database connection of the
    host ends. This class is the lock of a ledger in memory. It is always free, since no other
    process can plan.
    """

    def acquire(self) -> bool:
        """Try to acquire the lock without waiting; return whether the lock is now held."""
        return True

    def release(self) -> None:
        """Release the lock if it is held."""


class FileLock(PlannerLock):
    """Planner lock of a SQLite ledger: lock on a file next to the database file.

    The operating system releases the lock when the process ends.

    Parameters
    ----------
    path : Path
        Path of the file to lock. The file is created with access for its owner only.
    """

    def __init__(self, path: Path) -> None:
        # not thread-local, since any thread may stop a host
        self._lock = filelock.FileLock(path, mode=0o600, thread_local=False)

    def acquire(self) -> bool:
        if not self._lock.is_locked:
            try:
                self._lock.acquire(blocking=False)
            except filelock.Timeout:
                return False
        return True

    def release(self) -> None:
        self._lock.release()


class DatabaseLock(PlannerLock):
    """Planner lock of a PostgreSQL ledger: advisory lock held by a separate connection.

    The server releases the lock when the connection ends.

    Parameters
    ----------
    engine : sa.Engine
        Engine of a PostgreSQL database.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    def acquire(self) -> bool:
        if self._connection is not None:
            with suppress(sa.exc.DBAPIError):
                self._connection.scalar(sa.select(1))
                return True
        self.release()
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(PLANNER_LOCK_ID))):
            connection.detach()  # from the pool, so that close() ends the connection
            self._connection = connection
            return True
        connection.close()
        return False

    def release(self) -> None:
        if self._connection is not None:
            # otherwise the server would release the lock only some time after the connection ends
            with suppress(sa.exc.DBAPIError):
                if not self._connection.invalidated:
                    self._connection.scalar(sa.select(sa.func.pg_advisory_unlock(PLANNER_LOCK_ID)))
            self._connection.close()
            self._connection = None
