"""Group commit: one thread records the events of concurrent requests in shared transactions.

A transaction is expensive, but adding another event to a transaction is cheap. Therefore the events
of many requests are written to disk in one transaction.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from belated.ledger.events import NewEvent, Outcome
from belated.ledger.store import OUTAGES

Append: TypeAlias = Callable[[Iterable[NewEvent]], list[Outcome]]

GROUP_COMMIT_WAIT_S: Final = 0.002


class BusyError(Exception):
    """Error because events cannot be queued: the queue is full, or the service is stopping."""


class Job(NamedTuple):
    """Events of one request, and the future that receives their outcomes."""

    events: Sequence[NewEvent]
    outcomes: asyncio.Future[list[Outcome]]


class GroupCommit:
    """Queue of events, and the thread that records these events in the ledger.

    Parameters
    ----------
    append : Append
        Function that records an iterable of events in one transaction and returns their outcomes.
        The events are taken from the queue when the function begins to iterate. They include events
        that arrived while the function waited, such as for another process that writes.
    max_batch_events : int
        Maximum number of events in a transaction. A request with more events gets a transaction of
        its own.
    max_queued_events : int
        Maximum number of events in the queue. `submit` raises BusyError if its events would exceed
        this number, unless the queue is empty.
    wait_s : float
        Maximum time in seconds to wait for more requests before a transaction is begun. The thread
        waits only if recent transactions contained several requests. It stops waiting when the
        queue contains about as many requests as the recent transactions did.
    timeout_s : float
        Maximum time in seconds for which `submit` waits for the outcomes; None for no limit.
    """

    def __init__(
        self,
        append: Append,
        *,
        max_batch_events: int,
        max_queued_events: int,
        wait_s: float = GROUP_COMMIT_WAIT_S,
        timeout_s: float | None = None,
    ) -> None:
        self._append = append
        self._max_batch_events = max_batch_events
        self._max_queued_events = max_queued_events
        self._wait_s = wait_s
        self._timeout_s = timeout_s
        self._jobs: deque[Job] = deque()
        self._queued_events = 0
        self._wake_at_jobs = 1  # length of the queue at which the thread is notified
        self._is_idle = False  # whether the thread waits for the first job of a batch
        self._expected_jobs = 1  # number of requests in recent batches, decaying
        self._changed = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    @property
    def queued_events(self) -> int:
        """Number of events in the queue, which are not recorded yet."""
        return self._queued_events

    def start(self) -> None:
        """Start the thread that records events. Raises RuntimeError if it is already running."""
        if self._thread is not None:
            raise RuntimeError("The group commit has already been started.")
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="belated-commit", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Accept no more events, wait until all queued events are recorded, and end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    async def submit(self, events: Sequence[NewEvent]) -> list[Outcome]:
        """Record `events` in one transaction, in this order, and return their outcomes.

        Raises BusyError if the queue is full or the service is stopping. Raises TimeoutError if
        there are no outcomes in time: events that are still in the queue are then dropped, others
        may be recorded later. An exception that `append` raises for these events is raised too.
        """
        loop = asyncio.get_running_loop()
        job = Job(events, loop.create_future())
        with self._changed:
            if self._stopping:
                raise BusyError("The service is stopping.")
            queued = self._queued_events
            if queued and queued + len(events) > self._max_queued_events:
                raise BusyError(f"The queue is full: {queued} events wait to be recorded.")
            self._jobs.append(job)
            self._queued_events += len(events)
            if len(self._jobs) >= self._wake_at_jobs:
                self._changed.notify()
            elif self._is_idle:
                loop.call_later(self._wait_s, self._stop_waiting, job)
            self._is_idle = False
        async with asyncio.timeout(self._timeout_s):
            return await job.outcomes

    def _stop_waiting(self, first: Job) -> None:
        """Wake the thread if `first`, the first job in the queue, still waits for more jobs."""
        with self._changed:
            if self._jobs and self._jobs[0] is first:
                self._wake_at_jobs = 1
                self._changed.notify()

    def _run(self) -> None:
        while self._wait_for_queue():
            batch: list[Job] = []
            self._record(batch, self._take_events(batch))

    def _wait_for_queue(self) -> bool:
        """Wait until the queue contains jobs, each with the events of one request.

        If recent transactions recorded several jobs, wait up to `wait_s` seconds until the queue
        contains about as many. Returns False if `stop` has been called and no jobs are left, else
        True.
        """
        with self._changed:
            # Woken up only once for a batch: this takes as long as recording several events.
            # If the queue is empty, `submit` limits the time, from the first job on.
            self._is_idle = not self._jobs
            self._wake_at_jobs = max(self._expected_jobs, 1)
            self._changed.wait_for(
                lambda: len(self._jobs) >= self._wake_at_jobs or self._stopping,
                None if self._is_idle else self._wait_s,
            )
            return bool(self._jobs)

    def _take_batch(self) -> list[Job]:
        """Remove the jobs of the next transaction from the queue, and return them.

        A job contains the events of one request. Jobs whose requests were cancelled or timed out
        are removed, but not returned.
        """
        with self._changed:
            batch: list[Job] = []
            size = 0
            while self._jobs and (
                not batch or size + len(self._jobs[0].events) <= self._max_batch_events
            ):
                job = self._jobs.popleft()
                self._queued_events -= len(job.events)
                if not job.outcomes.done():  # cancelled or expired
                    batch.append(job)
                    size += len(job.events)
            self._expected_jobs = max(len(batch), self._expected_jobs * 3 // 4)
            return batch

    def _take_events(self, batch: list[Job]) -> Iterator[NewEvent]:
        """Move the jobs of the next transaction from the queue to `batch`; yield their events.

        The jobs are moved when `append` begins to read the events.
        """
        batch += self._take_batch()
        for job in batch:
            yield from job.events

    def _record(self, batch: list[Job], events: Iterable[NewEvent]) -> None:
        try:
            outcomes = self._append(events)
        except Exception as error:
            if not batch:  # no events were read, such as if the database is unavailable
                batch = self._take_batch()
            if len(batch) == 1 or isinstance(error, OUTAGES):
                _resolve(batch, [error] * len(batch))
            else:  # record each request alone, so that only the one that causes the error fails
                for job in batch:
                    self._record([job], job.events)
            return
        with self._changed:
            # These requests were there at once, since none of them has a response yet. Without
            # those in the queue, requests that missed a batch would stay apart from it.
            self._expected_jobs = max(self._expected_jobs, len(batch) + len(self._jobs))
        rest = iter(outcomes)
        _resolve(batch, [[next(rest) for _ in job.events] for job in batch])


def _resolve(batch: list[Job], results: Sequence[list[Outcome] | Exception]) -> None:
    """Complete the future of each job in `batch` with the item of `results` at the same index.

    A future must be completed in its own event loop. Each event loop is woken up only once.
    """

    def resolve_on(loop: asyncio.AbstractEventLoop) -> None:
        for job, result in zip(batch, results, strict=True):
            if job.outcomes.get_loop() is not loop or job.outcomes.done():
                continue
            if isinstance(result, Exception):
                job.outcomes.set_exception(result)
            else:
                job.outcomes.set_result(result)

    for loop in {job.outcomes.get_loop() for job in batch}:
        with suppress(RuntimeError):  # the loop is closed, so no request waits in it
            loop.call_soon_threadsafe(resolve_on, loop)
