"""Host: keeps the learners of a ledger up to date, and publishes what they come to.

Of several hosts on one ledger, one plans; the others wait for its lock, and one of them takes over
when it dies. Should two ever plan at once, because a connection broke, they fold the same ticks
and publish the same policies: the lock saves work, and the ledger keeps the order.
"""

import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.ledger.store import OUTAGES
from belated.online.fold import Fold
from belated.online.follower import OFTEN, Follower, undoing
from belated.online.lock import PlannerLock, lock_of
from belated.online.publishing import advance
from belated.online.status import Standing

INTERVAL: Final = 1.0
"""Seconds between two looks at what other processes have recorded."""

LONGEST: Final = 86400.0
"""The most seconds: a day."""

PATIENCE: Final = 0.2
"""Seconds to wait for a learner at work before telling where it stood."""


@dataclass(frozen=True)
class Failure:
    """A problem that cannot be folded, and why."""

    problem: str
    reason: str
    seq: int
    """How far the ledger went when it failed."""


class Host:
    """The learners of all problems of a ledger, and a thread that plans.

    - `interval`: seconds between two looks at the ledger; `wake` makes it look at once.
    - `snapshot_every`: how many events to fold from one snapshot to the next.

    A problem that fails does not hold up the others. It is tried again when something of it is
    corrected or withdrawn.
    """

    def __init__(
        self, ledger: Ledger, *, interval: float = INTERVAL, snapshot_every: int = OFTEN
    ) -> None:
        if not 0 < interval <= LONGEST:
            raise ValueError(
                f"interval is {interval}; it must be seconds above 0, and at most {LONGEST:g}."
            )
        self._ledger = ledger
        self._interval = interval
        self._snapshot_every = snapshot_every
        self._lock: PlannerLock = lock_of(ledger.store)
        self._followers: dict[int, Follower] = {}
        self._failures: dict[int, Failure] = {}
        self._settled: dict[int, int] = {}  # up to where nothing is left to do
        self._standings: dict[int, Standing] = {}  # the last of each problem that was asked for
        self._news = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._plans = self._ready = False
        self._trouble: str | None = None

    @property
    def plans(self) -> bool:
        """Whether this is the one that plans."""
        return self._plans

    @property
    def ready(self) -> bool:
        """Whether it has looked at everything once since it plans, or leaves that to another."""
        return self._ready and (self._thread is None or self._thread.is_alive())

    @property
    def trouble(self) -> str | None:
        """Why the last look at the ledger failed, if it did."""
        return self._trouble

    @property
    def failures(self) -> dict[int, Failure]:
        """The problems that cannot be folded, by id."""
        return dict(self._failures)

    def step(self) -> bool:
        """Look at the ledger once: tick, fold and publish; returns whether this one plans."""
        plans = self._lock.acquire()
        self._ready = self._ready and plans == self._plans
        self._plans = plans
        if plans:
            for problem in self._ledger.problems():
                if self._failure(problem) is None:
                    self._advance(problem)
        self._ready = True
        return plans

    def standing(self, problem: Problem) -> Standing | Failure:
        """Where a problem stands by now; any host can tell.

        While its learner is at work, where it stood before, if somebody has asked before: `seq`
        tells how far that goes. If nobody has, this waits for it.
        """
        while (found := self.standing_soon(problem)) is None:
            pass
        return found

    def standing_soon(self, problem: Problem) -> Standing | Failure | None:
        """The same, but None where that would have to be waited for."""
        failure = self._failure(problem)
        if failure is not None:
            return failure
        follower, end = self._follower(problem), self._ledger.last
        earlier = self._standings.get(problem.id)
        if not follower.busy.acquire(timeout=PATIENCE):
            return earlier
        try:
            return self._keep(problem, follower.catch_up())
        except OUTAGES:
            raise
        except Exception as error:
            return self._fail(problem, error, end)
        finally:
            follower.busy.release()

    def start(self) -> None:
        """Let a thread look, time and again."""
        if self._thread is not None:
            raise RuntimeError("The host has been started already.")
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="belated-host", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something new."""
        self._news.set()

    def stop(self) -> None:
        """Finish what is being done, and let another plan."""
        self._stopping = True
        self.wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._plans = self._ready = False
        self._lock.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        while True:
            self._news.clear()
            if self._stopping:  # asked after clearing, or the call to wake up may be lost
                return
            try:
                self.step()
                self._trouble = None
            except Exception as error:  # the database may be back by the next look
                self._trouble = f"{type(error).__name__}: {error}"
            self._news.wait(self._interval)

    def _advance(self, problem: Problem) -> None:
        follower, end = self._follower(problem), self._ledger.last
        with follower.busy:
            try:
                if self._settled.get(problem.id, 0) < end:
                    fold = advance(self._ledger, follower)
                    # it takes a look at everything that is missing, so only where it is wanted
                    if problem.id in self._standings:
                        self._keep(problem, fold)
                    follower.save(every=self._snapshot_every)
                    self._settled[problem.id] = end
            except OUTAGES:
                raise
            except Exception as error:
                self._fail(problem, error, end)

    def _keep(self, problem: Problem, fold: Fold) -> Standing:
        standing = self._standings[problem.id] = Standing.of(fold)
        return standing

    def _failure(self, problem: Problem) -> Failure | None:
        """Why it cannot be folded, unless something has happened since that could help."""
        failure = self._failures.get(problem.id)
        if failure is not None and any(undoing(self._ledger, problem.id, after=failure.seq)):
            self._failures.pop(problem.id, None)
            return None
        return failure

    def _fail(self, problem: Problem, error: Exception, seq: int) -> Failure:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        failure = self._failures[problem.id] = Failure(problem.name, reason, seq)
        return failure

    def _follower(self, problem: Problem) -> Follower:
        return self._followers.setdefault(problem.id, Follower(self._ledger, problem))
