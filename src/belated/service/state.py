"""Settings of an application, and its state: ledger, host, worker threads, caches, metrics."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from fastapi import Request

from belated.ledger.clients import Token
from belated.ledger.events import NewEvent, Outcome
from belated.ledger.ledger import Ledger
from belated.ledger.outages import OutageLog
from belated.ledger.problems import Problem
from belated.ledger.store import OUTAGES
from belated.online.host import Failure, Host
from belated.online.serving import ServedPolicy
from belated.online.status import ProblemStatus
from belated.service.caches import LedgerCache, SingleFlightCache
from belated.service.errors import LOG, ApiError, store_unavailable, unavailable
from belated.service.group_commit import BusyError, GroupCommit
from belated.service.operations.metrics import Metrics
from belated.service.operations.readiness import WriteProbe
from belated.service.tokens import RateLimiter, TokenUses

T = TypeVar("T")

FOLD_CHECKS: Final = 100
"""Maximum number of attempts to read the status of a problem for one request."""
FOLD_CHECK_INTERVAL_S: Final = 0.1


@dataclass(frozen=True)
class Settings:
    """Limits and cache lifetimes of an application. Sizes are in bytes, times in seconds."""

    open: bool = False
    """Whether requests from this machine need no token until the first token is created. This is
    meant for trials."""
    max_body_bytes: int = 1 << 20
    """Maximum size of the body of a request, and of one line of a bulk request."""
    max_bulk_bytes: int = 64 << 20
    """Maximum size of the body of a bulk request."""
    max_bulk_lines: int = 100_000
    """Maximum number of lines in a bulk request."""
    max_problem_cells: int = 2_000_000
    """Maximum product of the numbers of steps, states and actions of one problem. A definition that
    exceeds it gets a 422."""
    max_total_cells: int = 20_000_000
    """Maximum sum, over all problems, of the product of the numbers of steps, states and actions.
    A definition that exceeds it gets a 422. A learner takes about 100 bytes for each unit of the
    product, so the default allows about 2 GB if all learners are in memory."""
    max_problems: int = 50_000
    """Maximum number of problems. A definition that exceeds it gets a 422."""
    max_exports: int = 4
    """Maximum number of concurrent exports. A request that exceeds it gets a 429."""
    max_batch_events: int = 1000
    """Maximum number of events in one transaction. A request with more events gets a transaction of
    its own."""
    max_queued_events: int = 10_000
    """Maximum number of events that wait to be recorded. A request that exceeds it gets a 503."""
    store_timeout_s: float = 10.0
    """Maximum time for which a request waits for the store, after which it gets a 503."""
    slow_timeout_s: float = 120.0
    """Maximum time for which a request waits for a long computation, such as an export."""
    write_probe_ttl_s: float = 2.0
    """Time for which the result of the write probe of `/readyz` is cached."""
    write_probe_timeout_s: float = 5.0
    """Maximum time for which `/readyz` waits for the write probe."""
    served_version_ttl_s: float = 0.1
    """Time for which the served version of a problem is cached."""
    max_requests_per_s: float = 0
    """Maximum number of requests per second with one token; 0 for no limit. The requests of one
    second may arrive at once. Each process counts separately."""
    token_ttl_s: float = 1.0
    """Time for which tokens are cached. A revoked token may be accepted for this long."""


class WorkerThreads:
    """Pool of `threads` worker threads for functions that would block the event loop.

    A caller waits at most `timeout_s` seconds for a result.
    """

    def __init__(self, threads: int, timeout_s: float) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="belated-worker")
        self._timeout_s = timeout_s

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """Call `function(*args)` in one of the threads, and return its result.

        Raises TimeoutError if there is no result in time. A call that has not begun is then
        dropped, and one that has begun continues.
        """
        async with asyncio.timeout(self._timeout_s):
            return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)

    def submit(self, function: Callable[..., object], *args: object) -> None:
        """Call `function(*args)` in one of the threads, without waiting. Exceptions are logged."""

        def log(done: Future[object]) -> None:
            if done.exception() is not None:
                LOG.error("%s failed: %s.", function.__name__, type(done.exception()).__name__)

        self._executor.submit(function, *args).add_done_callback(log)

    def close(self) -> None:
        """Wait for running calls to return, and end the threads."""
        self._executor.shutdown()


class ExportThreads(WorkerThreads):
    """Pool of `threads` worker threads for exports, of which there are at most `max_exports`.

    A caller waits at most `timeout_s` seconds for each part of an export.
    """

    def __init__(self, threads: int, timeout_s: float, *, max_exports: int) -> None:
        super().__init__(threads, timeout_s)
        self._max_exports = max_exports
        self._exports = 0

    @contextmanager
    def export(self) -> Iterator[None]:
        """Return a context manager during which one export takes place.

        Raises ApiError (429) if `max_exports` exports take place already. For use in one event
        loop.
        """
        if self._exports >= self._max_exports:
            raise unavailable(f"There are {self._exports} exports at the moment, the maximum.", 429)
        self._exports += 1
        try:
            yield
        finally:
            self._exports -= 1


class AppState:
    """Objects that all requests to an application share.

    The caller starts `group_commit` before the first request and stops it after the last one.

    Parameters
    ----------
    ledger : Ledger
        Ledger to serve.
    host : Host
        Host that computes the state and the policies of each problem from the events in `ledger`.
    settings : Settings
        Limits on requests, and lifetimes of cached values.
    """

    def __init__(self, ledger: Ledger, host: Host, settings: Settings) -> None:
        self.ledger = ledger
        self.host = host
        self.settings = settings
        timeout_s = settings.store_timeout_s
        self.query_threads = queries = WorkerThreads(8, timeout_s)
        self.slow_threads = WorkerThreads(4, settings.slow_timeout_s)
        # so that writing delays no other request
        self.quarantine_threads = WorkerThreads(1, timeout_s)
        self.probe_threads = probes = WorkerThreads(1, settings.write_probe_timeout_s)
        self.export_threads = ExportThreads(
            2, settings.slow_timeout_s, max_exports=settings.max_exports
        )
        self.defining = asyncio.Lock()
        """Lock held while a problem is defined, so that concurrent definitions exceed no limit."""
        self.busy_keys: dict[str, asyncio.Event] = {}
        """Map from the hashed idempotency key of each request in progress to an event, which is set
        when the request ends."""
        self.metrics = metrics = Metrics()
        self.reads = OutageLog("read", metrics.count_store_error)
        self.writes = OutageLog("write", metrics.count_store_error)
        host.outages.on_error = metrics.count_store_error
        self.group_commit = GroupCommit(
            self._append,
            max_batch_events=settings.max_batch_events,
            max_queued_events=settings.max_queued_events,
            on_batch=metrics.count_batch,
            timeout_s=timeout_s,
        )
        metrics.watch("queue_events", lambda: self.group_commit.queued_events)
        metrics.watch("oldest_unfolded_event_age_seconds", lambda: host.oldest_unfolded_age_s)
        metrics.watch("seconds_since_last_fold", lambda: host.seconds_since_fold)
        metrics.watch("store_connections", lambda: ledger.store.used_connections)
        self._tokens: SingleFlightCache[None, dict[str, Token]] = SingleFlightCache(
            ttl_s=settings.token_ttl_s
        )
        self.write_probe = WriteProbe(
            lambda: probes.run(ledger.store.probe), self.writes, ttl_s=settings.write_probe_ttl_s
        )
        self.rate_limiter = RateLimiter(settings.max_requests_per_s)
        self.token_uses = TokenUses(
            lambda id, used: self.quarantine_threads.submit(ledger.tokens.touch, id, used)
        )
        self.cache = LedgerCache(ledger, queries.run, ttl_s=settings.served_version_ttl_s)

    def close(self) -> None:
        """End the worker threads."""
        for threads in (
            self.query_threads,
            self.slow_threads,
            self.quarantine_threads,
            self.probe_threads,
            self.export_threads,
        ):
            threads.close()

    async def record(self, *events: NewEvent) -> list[Outcome]:
        """Record `events` in a transaction shared with other requests; return their outcomes.

        Raises ApiError (503) if the queue is full, the store is unavailable, or it does not respond
        in time. In the last case the events may be recorded later, or not at all.
        """
        try:
            return await self.group_commit.submit(events)
        except BusyError as error:
            raise unavailable(str(error)) from None
        except OUTAGES as error:
            raise store_unavailable(error) from None
        except TimeoutError as error:
            self.writes.failed(error)
            raise store_unavailable(error) from None

    def _append(self, events: Iterable[NewEvent]) -> list[Outcome]:
        try:
            outcomes = self.ledger.append(events)
        except OUTAGES as error:
            self.writes.failed(error)
            raise
        self.writes.succeeded()
        return outcomes

    async def problem(self, name: str) -> Problem:
        """Return the problem called `name`. Raises ApiError (404) if there is none."""
        problem = await self.cache.problem(name)
        if problem is None:
            raise ApiError(404, f"Problem {name[:100]!r} not found.")
        return problem

    async def served(self, problem: Problem) -> ServedPolicy:
        """Return the served version of `problem`, as cached, and its policy.

        Raises ApiError (503) if no version has been published yet.
        """
        served = await self.cache.served(problem.id)
        if served is None:
            raise unavailable("No policy has been published yet.")
        return served

    async def status(self, problem: Problem) -> ProblemStatus | Failure:
        """Return the status of `problem` from the host.

        The result is a `Failure` if the problem's state cannot be computed from its events. While
        the host computes this state for the first time, this method waits without blocking a
        thread. It raises ApiError (503) after `FOLD_CHECKS` attempts.
        """
        for _ in range(FOLD_CHECKS):
            status = await self.slow_threads.run(self.host.status_nowait, problem)
            if status is not None:
                return status
            await asyncio.sleep(FOLD_CHECK_INTERVAL_S)
        raise unavailable("The problem is still being folded.")

    async def tokens(self) -> dict[str, Token]:
        """Return all tokens, including revoked ones, as a dictionary from id to token.

        A token that was revoked less than `token_ttl_s` seconds ago may be returned as it was.
        """
        return await self._tokens.get(None, self._read_tokens) or {}

    async def _read_tokens(self) -> dict[str, Token]:
        tokens = await self.query_threads.run(self.ledger.tokens.all)
        self.reads.succeeded()
        return {token.id: token for token in tokens}


def get_state(request: Request) -> AppState:
    """Return the state of the application that received `request`."""
    state: AppState = request.app.state.belated
    return state
