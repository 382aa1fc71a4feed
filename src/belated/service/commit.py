"""Group commit: requests hand in events, and one thread records what has come meanwhile together.

One write to disk then serves many requests.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from belated.ledger.events import NewEvent
from belated.ledger.outcomes import Outcome
from belated.ledger.store import OUTAGES

Append: TypeAlias = Callable[[list[NewEvent]], list[Outcome]]
Watch: TypeAlias = Callable[[Sequence[Outcome]], None]


LINGER: Final = 0.002


class BusyError(Exception):
    """Too much waits already, or nothing is taken in any more."""


class Job(NamedTuple):
    """Events of one request, and where it waits for the answer."""

    events: Sequence[NewEvent]
    answer: asyncio.Future[list[Outcome]]


class GroupCommit:
    """A queue of events and the thread that records them.

    - `append` records events in one transaction.
    - `most`: how many events to record together, if several requests brought them.
    - `room`: how many may wait; `submit` raises BusyError beyond that.
    - `watch` hears what became of each batch.
    - `linger`: how many seconds a batch waits, at most, for as many requests as came together
      lately. A batch costs much and each event in it little; who comes alone waits for nobody.
    """

    def __init__(
        self,
        append: Append,
        *,
        most: int,
        room: int,
        watch: Watch | None = None,
        linger: float = LINGER,
    ) -> None:
        self._append = append
        self._most = most
        self._room = room
        self._watch = watch
        self._linger = linger
        self._jobs: deque[Job] = deque()
        self._waiting = 0
        self._wanted = 1  # how many jobs to be woken for
        self._crowd = 1  # how many came together lately
        self._news = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return self._waiting

    def start(self) -> None:
        """Begin to record."""
        if self._thread is not None:
            raise RuntimeError("The group commit has been started already.")
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="belated-commit", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take in nothing more, and return when all that waits is recorded."""
        with self._news:
            self._closed = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    async def submit(self, events: Sequence[NewEvent]) -> list[Outcome]:
        """Record events in this order, next to each other; returns what became of each."""
        job = Job(events, asyncio.get_running_loop().create_future())
        with self._news:
            if self._closed:
                raise BusyError("The service is stopping.")
            if self._waiting and self._waiting + len(events) > self._room:
                raise BusyError(f"{self._waiting} events wait to be recorded already.")
            self._jobs.append(job)
            self._waiting += len(events)
            if len(self._jobs) >= self._wanted:
                self._news.notify()
        return await job.answer

    def _run(self) -> None:
        while batch := self._take():
            self._record(batch)

    def _take(self) -> list[Job]:
        """What has come; nothing once all is done."""
        with self._news:
            self._wait(1, None)
            self._wait(self._crowd, self._linger)
            batch: list[Job] = []
            size = 0
            while self._jobs and (not batch or size + len(self._jobs[0].events) <= self._most):
                batch.append(self._jobs.popleft())
                size += len(batch[-1].events)
            self._waiting -= size
            self._crowd = max(len(batch), self._crowd * 3 // 4)
            return batch

    def _wait(self, jobs: int, seconds: float | None) -> None:
        self._wanted = jobs
        self._news.wait_for(lambda: len(self._jobs) >= jobs or self._closed, seconds)

    def _record(self, batch: list[Job]) -> None:
        try:
            outcomes = self._append([event for job in batch for event in job.events])
        except Exception as error:
            if len(batch) == 1 or isinstance(error, OUTAGES):
                _settle(batch, [error] * len(batch))
            else:  # one of them is to blame, and not the others
                for job in batch:
                    self._record([job])
            return
        parts, done = [], 0
        for job in batch:
            parts.append(outcomes[done : done + len(job.events)])
            done += len(job.events)
        _settle(batch, parts)
        if self._watch is not None:
            self._watch(outcomes)


def _settle(batch: list[Job], results: Sequence[list[Outcome] | Exception]) -> None:
    """Wake all that wait, with one signal for each loop they wait on."""

    def tell(loop: asyncio.AbstractEventLoop) -> None:
        for job, result in zip(batch, results, strict=True):
            if job.answer.get_loop() is not loop or job.answer.done():
                continue
            if isinstance(result, Exception):
                job.answer.set_exception(result)
            else:
                job.answer.set_result(result)

    for loop in {job.answer.get_loop() for job in batch}:
        with suppress(RuntimeError):  # a loop that is closed has nobody waiting
            loop.call_soon_threadsafe(tell, loop)
