"""Group commit: the events of concurrent requests are recorded in shared transactions.

A transaction is expensive, but adding another event to a transaction is cheap. Therefore the events
of many requests are written to disk in one transaction.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from belated.ledger.events import NewEvent, Outcome
from belated.ledger.store import OUTAGES
from belated.service.limits import Settings

Append: TypeAlias = Callable[[Iterable[NewEvent]], list[Outcome]]

GROUP_COMMIT_WAIT_S: Final = 0.002


class BusyError(Exception):
    """Error because events cannot be queued: the queue is full, or the service is stopping."""


class Job(NamedTuple):
    """Events of one request, and the future that receives their outcomes."""

    events: Sequence[NewEvent]
    outcomes: asyncio.Future[list[Outcome]]


class GroupCommit:
    """Queue of events, which a thread records in the ledger. For use in one event loop.

    Parameters
    ----------
    append : Append
        Function that records an iterable of events in one transaction and returns their outcomes.
        The events are taken from the queue when the function begins to iterate. They include events
        that arrived while the function waited, such as for another process that writes.
    settings : Settings
        Limits: `max_batch_events` for a transaction, `max_queued_events` for the queue, and
        `store_timeout_s` for the time for which `submit` waits for the outcomes.
    wait_s : float
        Maximum time in seconds to wait for more requests before a transaction is begun. It is begun
        at once unless recent transactions contained several requests, and as soon as the queue
        contains about as many requests as these did.
    """

    def __init__(
        self,
        append: Append,
        settings: Settings,
        *,
        wait_s: float = GROUP_COMMIT_WAIT_S,
    ) -> None:
        self._append = append
        self._settings = settings
        self._wait_s = wait_s
        self._jobs: deque[Job] = deque()
        # Numbers of events so far: only the event loop writes the first, and the thread the second.
        self._submitted_events = self._taken_events = 0
        self._expected_jobs = 1  # number of requests in recent batches, decaying
        self._arrived = asyncio.Event()  # set if the queue has as many jobs as expected
        self._stopping = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="belated-commit")
        self._recording: asyncio.Task[None] | None = None

    @property
    def queued_events(self) -> int:
        """Number of events in the queue, which are not recorded yet."""
        return self._submitted_events - self._taken_events

    async def stop(self) -> None:
        """Accept no more events, wait until all queued events are recorded, and end the thread."""
        self._stopping = True
        self._arrived.set()
        if self._recording is not None:
            await self._recording
        self._thread.shutdown()

    async def submit(self, events: Sequence[NewEvent]) -> list[Outcome]:
        """Record `events` in one transaction, in this order, and return their outcomes.

        Raises BusyError if the queue is full or the service is stopping. Raises TimeoutError if
        there are no outcomes in time: events that are still in the queue are then dropped, others
        may be recorded later. An exception that `append` raises for these events is raised too.
        """
        if self._stopping:
            raise BusyError("The service is stopping.")
        queued = self.queued_events
        if queued and queued + len(events) > self._settings.max_queued_events:
            raise BusyError(f"The queue is full: {queued} events wait to be recorded.")
        job = Job(events, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._submitted_events += len(events)
        if len(self._jobs) >= self._expected_jobs:
            self._arrived.set()
        if self._recording is None:
            self._recording = asyncio.create_task(self._record_all())
        async with asyncio.timeout(self._settings.store_timeout_s):
            return await job.outcomes

    async def _record_all(self) -> None:
        """Record the jobs in the queue, in one transaction after the other."""
        while self._jobs:
            if len(self._jobs) < self._expected_jobs and not self._stopping:
                self._arrived.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._wait_s):
                        await self._arrived.wait()
            batch: list[Job] = []
            await self._record(batch, self._take_events(batch))
        self._recording = None

    def _take_events(self, batch: list[Job]) -> Iterator[NewEvent]:
        """Move the jobs of the next transaction from the queue to `batch`; yield their events.

        The jobs are moved when the first event is requested. Jobs whose requests were cancelled or
        timed out are removed from the queue, but not recorded.
        """
        size, limit = 0, self._settings.max_batch_events
        while self._jobs and (not batch or size + len(self._jobs[0].events) <= limit):
            job = self._jobs.popleft()
            self._taken_events += len(job.events)
            if not job.outcomes.done():
                batch.append(job)
                size += len(job.events)
        self._expected_jobs = max(len(batch), self._expected_jobs * 3 // 4, 1)
        for job in batch:
            yield from job.events

    async def _record(self, batch: list[Job], events: Iterable[NewEvent]) -> None:
        """Record `events`, and complete the futures of the jobs in `batch`, to which they belong.

        `batch` may be empty until the first event is requested.
        """
        loop = asyncio.get_running_loop()
        try:
            outcomes = iter(await loop.run_in_executor(self._thread, self._append, events))
        except Exception as error:
            if not batch:  # no events were read, such as if the database is unavailable
                next(self._take_events(batch), None)
            if len(batch) > 1 and not isinstance(error, OUTAGES):
                for job in batch:  # alone, so that only the one that causes the error fails
                    await self._record([job], job.events)
                return
            for job in batch:
                if not job.outcomes.done():
                    job.outcomes.set_exception(error)
            return
        # These requests were there at once, since none of them has a response yet. Without
        # those in the queue, requests that missed a batch would stay apart from it.
        self._expected_jobs = max(self._expected_jobs, len(batch) + len(self._jobs))
        for job in batch:
            result = [next(outcomes) for _ in job.events]
            if not job.outcomes.done():
                job.outcomes.set_result(result)
