"""Directory: problems by name and episodes by id, read once each: they never change."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from belated.online.ledger import Ledger
from belated.online.outcomes import EpisodeRecord
from belated.online.problems import Problem
from belated.online.spec import Spec
from belated.service.gather import Gather

KEPT: Final = 20_000
"""How many episodes to keep at hand."""


@dataclass(frozen=True)
class Entry:
    """A problem, and the number of each state and action."""

    problem: Problem
    states: dict[str, int]
    actions: dict[str, int]

    @classmethod
    def of(cls, problem: Problem) -> "Entry":
        """Of a problem."""
        spec = problem.spec
        return cls(
            problem,
            {name: i for i, name in enumerate(spec.states)},
            {name: i for i, name in enumerate(spec.actions)},
        )

    @property
    def id(self) -> int:
        """What the ledger calls it."""
        return self.problem.id

    @property
    def spec(self) -> Spec:
        """As it was defined."""
        return self.problem.spec


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
        self._entries: dict[int, Entry] = {}
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._gather = Gather(self._look_up)

    async def problem(self, which: str | int) -> Entry | None:
        """The problem of this name or id, if there is one."""
        id = self._names.get(which) if isinstance(which, str) else which
        if id in self._entries:
            return self._entries[id]
        problem = await self._aside(self._ledger.problem, which)
        return None if problem is None else self.add(problem)

    def add(self, problem: Problem) -> Entry:
        """Keep a problem at hand."""
        self._names[problem.name] = problem.id
        return self._entries.setdefault(problem.id, Entry.of(problem))

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
