"""Caches for concurrent requests: of any values, and of what a ledger contains.

A single-flight cache lets concurrent requests share one lookup, and a batched lookup combines their
keys into one query. The classes have no locks, so an instance must be used in one event loop only.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Generic, NamedTuple, TypeVar

from belated.episode import Policy
from belated.ledger.events import EpisodeRecord
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.online.served_version import ServedPolicy, Serving
from belated.service.policies import PolicyDocument

K = TypeVar("K")
V = TypeVar("V")

MAX_CACHED_EPISODES: Final = 20_000
MAX_CACHED_DOCUMENTS: Final = 32


class BoundedDict(OrderedDict[K, V]):
    """Ordered dictionary of at most `max_size` items.

    If a new item exceeds this size, the first item in the order of the dictionary is removed.
    """

    def __init__(self, max_size: float = math.inf) -> None:
        super().__init__()
        self._max_size = max_size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._max_size:
            self.popitem(last=False)


class SingleFlightCache(Generic[K, V]):
    """Cache in which concurrent callers that request the same key share one lookup.

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
        self._cached: BoundedDict[K, tuple[V, float]] = BoundedDict(max_size)
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

    def put(self, key: K, value: V) -> None:
        """Cache `value` under `key`. The value is fresh from now on."""
        self._cached[key] = value, self._clock()

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
                self._cached[key] = value, started
            return value
        finally:
            if self._lookups.get(key) is task:
                del self._lookups[key]


class BatchedLookup(Generic[K, V]):
    """Lookup that combines the keys of concurrent callers into one query.

    `look_up(keys)` runs the query and returns a dict from each key that was found to its value.
    Keys that are requested while a query is running are looked up together in the next query,
    without duplicates.
    """

    def __init__(self, look_up: Callable[[list[K]], Awaitable[dict[K, V]]]) -> None:
        self._look_up = look_up
        self._requested: dict[K, asyncio.Future[V | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def get(self, key: K) -> V | None:
        """Return the value of `key`, or None if the query found no value for `key`."""
        answer = self._requested.get(key)
        if answer is None:
            answer = self._requested[key] = asyncio.get_running_loop().create_future()
            if self._task is None:
                self._task = asyncio.create_task(self._run())
        # The future is shared: cancelling one caller must not cancel it for the others.
        return await asyncio.shield(answer)

    async def _run(self) -> None:
        while self._requested:
            requested, self._requested = self._requested, {}
            try:
                found = await self._look_up(list(requested))
            except Exception as error:
                for answer in requested.values():
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for key, answer in requested.items():
                if not answer.done():
                    answer.set_result(found.get(key))
        self._task = None


class EpisodeOrigin(NamedTuple):
    """Problem to which an episode belongs, and version of the policy that the episode received."""

    problem: int  # id of the problem
    version: int  # version of the policy


class LedgerCache:
    """Cache of the problems, episodes and policies of a ledger, for use in one event loop.

    Only the served version of a problem can change after it has been recorded.

    Parameters
    ----------
    ledger : Ledger
        Ledger to read.
    run_in_thread : Callable
        `run_in_thread(function, *args)` calls a blocking function in a worker thread; the result is
        awaitable.
    ttl_s : float
        Time in seconds for which a cached served version is used without a query.
    clock : Callable[[], float]
        Returns a monotonic time in seconds.
    """

    def __init__(
        self,
        ledger: Ledger,
        run_in_thread: Callable[..., Any],
        *,
        ttl_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._serving = Serving(ledger)
        self._run_in_thread = run_in_thread
        self._problems: SingleFlightCache[str, Problem] = SingleFlightCache()
        self._episodes: BoundedDict[str, EpisodeOrigin] = BoundedDict(MAX_CACHED_EPISODES)
        self._lookup = BatchedLookup(self._read_episodes)
        self._served: SingleFlightCache[int, ServedPolicy] = SingleFlightCache(
            ttl_s=ttl_s, clock=clock
        )
        self._documents: SingleFlightCache[tuple[int, int], PolicyDocument] = SingleFlightCache(
            max_size=MAX_CACHED_DOCUMENTS
        )

    def problem(self, name: str) -> Coroutine[Any, Any, Problem | None]:
        """Return the problem called `name`, or None if there is no such problem."""
        return self._problems.get(name, lambda: self._run_in_thread(self._ledger.problem, name))

    def add_problem(self, problem: Problem) -> None:
        """Add `problem`, which has just been recorded in the ledger, to the cache."""
        self._problems.put(problem.name, problem)

    async def episode(self, id: str) -> EpisodeOrigin | None:
        """Return the problem and version of the episode `id`, or None for an unknown episode."""
        origin = self._episodes.get(id)
        return await self._lookup.get(id) if origin is None else origin

    def add_episode(self, record: EpisodeRecord) -> EpisodeOrigin:
        """Add the episode in `record` to the cache; return its problem and version."""
        origin = self._episodes[record.id] = EpisodeOrigin(record.problem, record.version)
        return origin

    async def _read_episodes(self, ids: list[str]) -> dict[str, EpisodeOrigin]:
        found = await self._run_in_thread(self._ledger.episodes, ids)
        return {id: self.add_episode(record) for id, record in found.items()}

    def served(self, problem: int) -> Coroutine[Any, Any, ServedPolicy | None]:
        """Return the served version of the problem with id `problem`, and its policy.

        Return None if no version has been published.
        """
        return self._served.get(problem, lambda: self._run_in_thread(self._serving.served, problem))

    def forget_served(self, problem: int) -> None:
        """Remove the served version of the problem with id `problem` from the cache."""
        self._served.invalidate(problem)

    async def policy(self, problem: int, version: int) -> Policy | None:
        """Return the policy of this `version` of the problem with id `problem`.

        Return None if the version does not exist.
        """
        policy: Policy | None = await self._run_in_thread(self._serving.policy, problem, version)
        return policy

    def document(
        self, problem: Problem, version: int
    ) -> Coroutine[Any, Any, PolicyDocument | None]:
        """Return the policy of this `version` of `problem`, serialized as JSON.

        Return None if the version does not exist.
        """

        async def serialize() -> PolicyDocument | None:
            policy = await self.policy(problem.id, version)
            if policy is None:
                return None
            document: PolicyDocument = await self._run_in_thread(
                PolicyDocument.of, problem.spec, version, policy
            )
            return document

        return self._documents.get((problem.id, version), serialize)
