"""State of an application: its ledger, host, worker threads, caches and metrics."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fastapi import Request

from belated.ledger.events import NewEvent
from belated.ledger.ledger import Ledger
from belated.ledger.outcomes import Outcome
from belated.ledger.store import OUTAGES
from belated.online.host import Host
from belated.service.errors import LOG, store_unavailable, unavailable
from belated.service.group_commit import BusyError, GroupCommit
from belated.service.ledger_cache import LedgerCache
from belated.service.metrics import Metrics
from belated.service.policies import PolicyCache
from belated.service.settings import Settings
from belated.service.tokens import RateLimiter, TokenCache, TokenUses

T = TypeVar("T")


class WorkerThreads:
    """Pool of `threads` worker threads for functions that would block the event loop."""

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="belated-worker")

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """Call `function(*args)` in one of the threads, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)

    def submit(self, function: Callable[..., object], *args: object) -> None:
        """Call `function(*args)` in one of the threads, without waiting; log if it fails."""

        def log(done: Future[object]) -> None:
            if done.exception() is not None:
                LOG.error("%s failed: %s.", function.__name__, type(done.exception()).__name__)

        self._executor.submit(function, *args).add_done_callback(log)

    def close(self) -> None:
        """Wait for running calls to return, and end the threads."""
        self._executor.shutdown()


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
        self.query_threads = queries = WorkerThreads(8)
        self.slow_threads = WorkerThreads(4)  # for calls that may take seconds
        self.quarantine_threads = WorkerThreads(1)  # so that writing delays no other request
        self.busy_keys: dict[str, asyncio.Event] = {}
        """Idempotency keys of requests in progress, with the event of their end."""
        self.metrics = Metrics()
        self.group_commit = GroupCommit(
            ledger.append,
            max_batch_events=settings.max_batch_events,
            max_queued_events=settings.max_queued_events,
            on_batch=self.metrics.count_batch,
        )
        self.metrics.watch_queue(lambda: self.group_commit.queued_events)
        self.tokens = TokenCache(lambda: queries.run(ledger.tokens.all), ttl_s=settings.token_ttl_s)
        self.rate_limiter = RateLimiter(settings.max_requests_per_s)
        self.token_uses = TokenUses(
            lambda id, used: self.quarantine_threads.submit(ledger.tokens.touch, id, used)
        )
        self.ledger_cache = LedgerCache(ledger, queries.run)
        self.policies = PolicyCache(ledger, queries.run, ttl_s=settings.served_version_ttl_s)

    def close(self) -> None:
        """End the worker threads."""
        for threads in (self.query_threads, self.slow_threads, self.quarantine_threads):
            threads.close()

    async def record(self, *events: NewEvent) -> list[Outcome]:
        """Record `events` in a transaction shared with other requests; return their outcomes.

        Raises ApiError (503) if the queue is full or the store is unavailable.
        """
        try:
            return await self.group_commit.submit(events)
        except BusyError as error:
            raise unavailable(str(error)) from None
        except OUTAGES:
            raise store_unavailable() from None


def get_state(request: Request) -> AppState:
    """Return the state of the application that received `request`."""
    state: AppState = request.app.state.belated
    return state
