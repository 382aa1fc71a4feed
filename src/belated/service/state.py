"""State of an application: ledger, host, worker threads, cached reads of the ledger, metrics."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from fastapi import Request

from belated.episode import Policy
from belated.ledger.clients import Token
from belated.ledger.events import EpisodeRecord, NewEvent, Outcome
from belated.ledger.ledger import Ledger
from belated.ledger.outages import OutageLog
from belated.ledger.problems import Problem
from belated.ledger.store import OUTAGES
from belated.online.host import Host
from belated.online.served_version import ServedPolicy, Serving
from belated.online.status import Failure, ProblemStatus
from belated.service.errors import LOG, ApiError, store_unavailable, unavailable
from belated.service.group_commit import BusyError, GroupCommit
from belated.service.limits import RateLimiter, Settings
from belated.service.operations.metrics import Metrics
from belated.service.policies import PolicyDocument

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

MAX_CACHED_EPISODES: Final = 20_000
MAX_CACHED_DOCUMENTS: Final = 32
FOLD_CHECKS: Final = 100
"""Maximum number of attempts to read the status of a problem for one request."""
FOLD_CHECK_INTERVAL_S: Final = 0.1
USE_INTERVAL_S: Final = 60
"""Minimum time in seconds between two records of the use of a token."""


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


class SingleFlightCache(Generic[K, V]):
    """Cache in which concurrent callers that request the same key share one lookup.

    It has no lock, so an instance must be used in one event loop only.

    - A value is fresh for `ttl_s` seconds, counted from the start of its lookup.
    - The first caller that requests a stale value starts a lookup and waits for the new value.
      Until this lookup ends, other callers get the stale value.
    - If no value is cached, all callers wait for the same lookup. If one caller is cancelled, the
      lookup continues for the others.
    - None and exceptions are not cached. A stale value stays in the cache if its lookup fails, and
      the next caller starts another lookup.

    Parameters
    ----------
    ttl_s : float
        Time in seconds for which a value is fresh; infinite by default. With 0, values are never
        fresh.
    max_size : float
        Maximum number of cached values. Beyond it, the least recently used value is evicted.
    clock : Callable[[], float]
        Returns a monotonic time in seconds.
    """

    def __init__(
        self,
        *,
        ttl_s: float = math.inf,
        max_size: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ttl_s = ttl_s
        self._max_size = max_size
        self._clock = clock
        self._cached: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._lookups: dict[K, asyncio.Task[V | None]] = {}

    async def get(self, key: K, look_up: Callable[[], Awaitable[V | None]]) -> V | None:
        """Return the value of `key`; call `look_up` for the value if no fresh one is cached.

        `look_up()` returns the value, or None if there is none.
        """
        cached = self._cached.get(key)
        if cached is not None and (
            self._ttl_s == math.inf or self._clock() - cached[1] < self._ttl_s
        ):
            if self._max_size < math.inf:
                self._cached.move_to_end(key)
            return cached[0]
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = asyncio.create_task(self._refresh(key, look_up))
        elif cached is not None:
            return cached[0]
        return await asyncio.shield(lookup)

    def put(self, key: K, value: V, at: float | None = None) -> None:
        """Cache `value` under `key`. The value is fresh from the time `at` on; None for now."""
        self._cached[key] = value, self._clock() if at is None else at
        if len(self._cached) > self._max_size:
            self._cached.popitem(last=False)

    def invalidate(self, key: K) -> None:
        """Remove the value of `key` from the cache.

        The callers of a lookup in progress still get its value, but this value is not cached.
        """
        self._cached.pop(key, None)
        self._lookups.pop(key, None)

    async def _refresh(self, key: K, look_up: Callable[[], Awaitable[V | None]]) -> V | None:
        started, task = self._clock(), asyncio.current_task()
        try:
            value = await look_up()
            if value is not None and self._lookups.get(key) is task:
                self.put(key, value, started)
            return value
        finally:
            if self._lookups.get(key) is task:
                del self._lookups[key]


class EpisodeOrigin(NamedTuple):
    """Problem to which an episode belongs, and version of the policy that the episode received."""

    problem: int  # id of the problem
    version: int  # version of the policy


class AppState:
    """Objects that all requests to an application share.

    The caller stops `group_commit` after the last request. What is read from the ledger is cached.
    Of that, only the served version of a problem and the tokens can change after they have been
    recorded.

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
        self.query_threads = WorkerThreads(8, settings.store_timeout_s)
        self.slow_threads = WorkerThreads(4, settings.slow_timeout_s)
        # so that writing delays no other request
        self.quarantine_threads = WorkerThreads(1, settings.store_timeout_s)
        self.probe_threads = WorkerThreads(1, settings.write_probe_timeout_s)
        self.export_threads = WorkerThreads(2, settings.slow_timeout_s)
        self.exports = asyncio.Semaphore(settings.max_exports)
        """Semaphore that each export holds until it ends."""
        self.defining = asyncio.Lock()
        """Lock held while a problem is defined, so that concurrent definitions exceed no limit."""
        self.key_locks = WeakValueDictionary[str, asyncio.Lock]()
        """Map from each hashed idempotency key to the lock that a request with this key holds."""
        self.metrics = Metrics(host)
        self.reads = OutageLog("read", self.metrics.count_store_error)
        self.writes = OutageLog("write", self.metrics.count_store_error)
        host.outages.on_error = self.metrics.count_store_error
        self.group_commit = GroupCommit(self._append, settings)
        self.metrics.watch(
            "queue_events",
            "Events that wait to be recorded.",
            lambda: self.group_commit.queued_events,
        )
        self.metrics.watch(
            "store_connections",
            "Connections to the store that are in use.",
            lambda: ledger.store.used_connections,
        )
        self.rate_limiter = RateLimiter(settings.max_requests_per_s)
        self._token_uses: dict[str, int] = {}  # last recorded time of use
        self.write_outages = SingleFlightCache[None, str](ttl_s=settings.write_probe_ttl_s)
        self._tokens = SingleFlightCache[None, dict[str, Token]](ttl_s=settings.token_ttl_s)
        self._serving = Serving(ledger)
        self._served = SingleFlightCache[int, ServedPolicy](ttl_s=settings.served_version_ttl_s)
        self._problems = SingleFlightCache[str, Problem]()
        self._episodes: OrderedDict[str, EpisodeOrigin] = OrderedDict()
        self._wanted_episodes: list[str] = []  # ids that the next query for episodes looks up
        self._one_episode_query = asyncio.Lock()
        self._documents = SingleFlightCache[tuple[int, int], PolicyDocument](
            max_size=MAX_CACHED_DOCUMENTS
        )

    def close(self) -> None:
        """End the worker threads."""
        for threads in vars(self).values():
            if isinstance(threads, WorkerThreads):
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
        if outcomes:
            self.metrics.batches.observe(len(outcomes))
        for outcome in outcomes:
            self.metrics.outcomes.labels(type(outcome).__name__.lower()).inc()
        return outcomes

    def find_problem(self, name: str) -> Coroutine[Any, Any, Problem | None]:
        """Return the problem called `name`, or None if there is no such problem."""
        run = self.query_threads.run
        return self._problems.get(name, lambda: run(self.ledger.problem, name))

    async def episode(self, id: str) -> EpisodeOrigin | None:
        """Return the problem and version of the episode `id`, or None for an unknown episode.

        All episodes that are requested until the preceding query ends are read by one query.
        """
        known = self._episodes.get(id)
        if known is not None:
            return known
        self._wanted_episodes.append(id)
        if len(self._wanted_episodes) == 1:
            self._episode_query = asyncio.create_task(self._read_episodes())
        # The query is shared: cancelling one caller must not cancel it for the others.
        return (await asyncio.shield(self._episode_query)).get(id)

    async def _read_episodes(self) -> dict[str, EpisodeOrigin]:
        async with self._one_episode_query:
            wanted, self._wanted_episodes = self._wanted_episodes, []
            found = await self.query_threads.run(self.ledger.episodes, wanted)
        return {id: self.add_episode(record) for id, record in found.items()}

    def add_episode(self, record: EpisodeRecord) -> EpisodeOrigin:
        """Add the episode in `record` to the cache; return its problem and version."""
        origin = self._episodes[record.id] = EpisodeOrigin(record.problem, record.version)
        if len(self._episodes) > MAX_CACHED_EPISODES:
            self._episodes.popitem(last=False)
        return origin

    async def served(self, problem: Problem) -> ServedPolicy:
        """Return the served version of `problem`, as cached, and its policy.

        Raises ApiError (503) if no version has been published yet.
        """
        run, id = self.query_threads.run, problem.id
        served = await self._served.get(id, lambda: run(self._serving.served, id))
        if served is None:
            raise unavailable("No policy has been published yet.")
        return served

    def forget_served(self, problem: Problem) -> None:
        """Remove the served version of `problem` from the cache."""
        self._served.invalidate(problem.id)

    async def policy(self, problem: Problem, version: int) -> Policy | None:
        """Return the policy of this `version` of `problem`, or None if it does not exist."""
        return await self.query_threads.run(self._serving.policy, problem.id, version)

    def document(
        self, problem: Problem, version: int
    ) -> Coroutine[Any, Any, PolicyDocument | None]:
        """Return the policy of this `version` of `problem`, serialized as JSON.

        Return None if the version does not exist.
        """

        def serialize() -> PolicyDocument | None:
            policy = self._serving.policy(problem.id, version)
            return None if policy is None else PolicyDocument.of(problem.spec, version, policy)

        key = (problem.id, version)
        return self._documents.get(key, lambda: self.query_threads.run(serialize))

    async def status(self, problem: Problem) -> ProblemStatus | Failure:
        """Return the status of `problem` from the host.

        The result is a `Failure` if the problem's state cannot be computed from its events. While
        the host computes this state for the first time, this method waits without blocking a
        thread. It raises ApiError (503) after `FOLD_CHECKS` attempts.
        """
        for _ in range(FOLD_CHECKS):
            status = await self.slow_threads.run(self.host.status, problem)
            if status is not None:
                return status
            await asyncio.sleep(FOLD_CHECK_INTERVAL_S)
        raise unavailable("The problem is still being folded.")

    def note_use(self, token: Token, now: int) -> None:
        """Record that `token` was used at the time `now`, in microseconds since 1970 (UTC).

        Nothing is recorded if the last record is less than `USE_INTERVAL_S` seconds old.
        """
        last = max(self._token_uses.get(token.id, 0), token.used or 0)
        if now - last >= USE_INTERVAL_S * 1_000_000:
            self._token_uses[token.id] = now
            self.quarantine_threads.submit(self.ledger.tokens.touch, token.id, now)

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


async def get_problem(request: Request, name: str) -> tuple[AppState, Problem]:
    """Return the state of the application that received `request`, and the problem called `name`.

    Raises ApiError (404) if there is no such problem.
    """
    state = get_state(request)
    problem = await state.find_problem(name)
    if problem is None:
        raise ApiError(404, f"Problem {name[:100]!r} not found.")
    return state, problem
