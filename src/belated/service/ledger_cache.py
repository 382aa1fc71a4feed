"""Cache of the problems and episodes of a ledger.

Problems are found by name, and episodes by id. Neither changes after it is recorded.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from belated.ledger.episodes import EpisodeRecord
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.service.single_flight import BatchedLookup, BoundedDict, SingleFlightCache

MAX_CACHED_EPISODES: Final = 20_000


class EpisodeOrigin(NamedTuple):
    """Problem to which an episode belongs, and version of the policy that the episode received."""

    problem: int  # id of the problem
    version: int  # version of the policy


class LedgerCache:
    """Cache of the problems and episodes of `ledger`, for use in one event loop.

    `run_in_thread(function, *args)` calls a blocking function in a worker thread; the result is
    awaitable.
    """

    def __init__(self, ledger: Ledger, run_in_thread: Callable[..., Any]) -> None:
        self._ledger = ledger
        self._run_in_thread = run_in_thread
        self._problems: SingleFlightCache[str, Problem] = SingleFlightCache()
        self._episodes: BoundedDict[str, EpisodeOrigin] = BoundedDict(MAX_CACHED_EPISODES)
        self._lookup = BatchedLookup(self._read_episodes)

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
