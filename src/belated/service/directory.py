"""Directory: problems by name and episodes by id, read once each: they never change."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from belated.ledger.episodes import EpisodeRecord
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.service.gather import Gather

KEPT: Final = 20_000
"""How many episodes to keep at hand."""


class Place(NamedTuple):
    """Where an episode belongs: its problem, and the version it was given."""

    problem: int
    version: int


class Directory:
    """What is known of problems and episodes; for one event loop."""

    def __init__(self, ledger: Ledger, aside: Callable[..., Any]) -> None:
        self._ledger = ledger
        self._aside = aside
        self._names: dict[str, int] = {}
        self._problems: dict[int, Problem] = {}
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._gather = Gather(self._look_up)

    async def problem(self, which: str | int) -> Problem | None:
        """The problem of this name or id, if there is one."""
        id = self._names.get(which) if isinstance(which, str) else which
        if id in self._problems:
            return self._problems[id]
        problem = await self._aside(self._ledger.problem, which)
        return None if problem is None else self.add(problem)

    def add(self, problem: Problem) -> Problem:
        """Keep a problem at hand."""
        self._names[problem.name] = problem.id
        return self._problems.setdefault(problem.id, problem)

    async def place(self, episode: str) -> Place | None:
        """Where an episode belongs, if there is one of this id."""
        place = self._places.get(episode)
        return await self._gather(episode) if place is None else place

    async def _look_up(self, episodes: list[str]) -> dict[str, Place]:
        found = await self._aside(self._ledger.episodes, episodes)
        return {id: self.remember(record) for id, record in found.items()}

    def remember(self, record: EpisodeRecord) -> Place:
        """Keep an episode at hand."""
        place = self._places[record.id] = Place(record.problem, record.version)
        if len(self._places) > KEPT:
            self._places.popitem(last=False)
        return place
