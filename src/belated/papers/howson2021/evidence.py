"""Evidence: the runs of a reproduction by chain, law, expected delay and learner."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from belated.episode import Floats, Ints
from belated.papers.howson2021.grid import CHAINS, LAWS, LEARNERS, RIGHT
from belated.papers.statistics import FEWEST, Interval, mean_interval
from belated.sweep.store import Columns

Curves = Callable[[str], Columns]
"""From the id of a setting to its columns seed, episode and regret."""


class Place(NamedTuple):
    """A chain under a delay law. Without delay the four laws are one, called "constant"."""

    states: int
    law: str
    mean: float

    def __str__(self) -> str:
        if self.mean == 0:
            return f"S = {self.states}, no delay"
        return f"S = {self.states}, {self.law}, E[τ] = {self.mean:g}"


def place_of(states: int, law: str, mean: float) -> Place:
    """The place of a chain under a law."""
    return Place(states, law if mean > 0 else "constant", mean)


Key = tuple[Place, str]
"""A place and an updater."""


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of one learner in one place, sorted by seed."""

    setting: str
    episodes: int
    columns: Columns

    @property
    def seeds(self) -> Ints:
        return self["seed"]

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]


class Evidence:
    """Runs of the paper's grid under one base; whatever else `runs` holds is left aside."""

    def __init__(self, runs: Columns, curves: Curves) -> None:
        self._curves = curves
        self.groups: dict[Key, Group] = {}
        runs = merge_chain_names(runs)
        worlds = {f"chain-{states}": states for states in CHAINS}
        inside = np.isin(runs["world"].astype(str), list(worlds))
        inside &= np.isin(runs["law"].astype(str), LAWS)
        inside &= np.isin(runs["updater"].astype(str), list(LEARNERS))
        found = {name: np.asarray(column)[inside] for name, column in runs.items()}
        alone(found, "base")
        for world in np.unique(found["world"].astype(str)):
            mine = found["world"] == world
            alone({name: column[mine] for name, column in found.items()}, "episodes")
        names, at = np.unique(found["setting"].astype(str), return_inverse=True)
        for i, setting in enumerate(names):
            rows = np.flatnonzero(at == i)
            rows = rows[np.argsort(found["seed"][rows])]
            own = {name: column[rows] for name, column in found.items()}
            states, law = worlds[str(own["world"][0])], str(own["law"][0])
            place = place_of(states, law, float(own["mean_delay"][0]))
            group = Group(str(setting), int(own["episodes"][0]), own)
            self.groups[place, str(own["updater"][0])] = group

    def places(self, *, delayed: bool = False) -> list[Place]:
        """Every place with a run, in the paper's order; `delayed` leaves out E[tau] = 0."""
        found = {place for place, _ in self.groups if place.mean > 0 or not delayed}
        return sorted(found, key=lambda p: (p.states, p.mean > 0, LAWS.index(p.law), p.mean))

    def chains(self) -> list[int]:
        """The chains with a run."""
        return sorted({place.states for place, _ in self.groups})

    def table(self, keys: Sequence[Key]) -> Floats | None:
        """Final regrets, one column for each key and one row for each seed that all of them have.

        None when a key has no runs, or when they share too few seeds for an interval.
        """
        if not all(key in self.groups for key in keys):
            return None
        groups = [self.groups[key] for key in keys]
        shared = groups[0].seeds
        for group in groups[1:]:
            shared = np.intersect1d(shared, group.seeds)
        if shared.size < FEWEST:
            return None
        return np.column_stack(
            [group["total_regret"][np.searchsorted(group.seeds, shared)] for group in groups]
        )

    def gaps(self, place: Place, others: Sequence[str], learner: str) -> dict[str, Interval]:
        """For each other learner, its regret less that of `learner`; empty if one is missing."""
        table = self.table([(place, learner), *((place, other) for other in others)])
        if table is None:
            return {}
        gaps = table[:, 1:] - table[:, :1]
        return {other: mean_interval(gaps[:, i]) for i, other in enumerate(others)}

    def means(self, states: int, laws: Sequence[str], learners: Sequence[str]) -> list[float]:
        """The expected delays, zero included, at which these learners ran under all these laws."""
        every = {place.mean for place, _ in self.groups if place.states == states}
        return sorted(
            mean
            for mean in every
            if all(
                (place_of(states, law, mean), learner) in self.groups
                for law in laws
                for learner in learners
            )
        )

    def curves(self, key: Key) -> Iterator[tuple[int, Ints, Floats]]:
        """Seed, checkpoints and cumulative regret of each run."""
        columns = self._curves(self.groups[key].setting)
        seeds, starts = np.unique(columns["seed"], return_index=True)
        for seed, episode, regret in zip(
            seeds,
            np.split(columns["episode"], starts[1:]),
            np.split(columns["regret"], starts[1:]),
            strict=True,
        ):
            yield int(seed), episode, regret


def merge_chain_names(runs: Columns) -> Columns:
    """The same runs with one name for a chain, whatever its last state pays for."""
    names = [str(world).removesuffix(RIGHT) for world in runs["world"]]
    return {**runs, "world": np.array(names, object)}


def level_at(episode: Ints, regret: Floats, at: float) -> float:
    """Cumulative regret after `at` episodes, straight between checkpoints."""
    return float(np.interp(at, np.append(0, episode), np.append(0.0, regret)))


def alone(columns: Columns, name: str) -> None:
    """Refuse runs that cannot be compared with each other."""
    values = np.unique(columns[name].astype(str))
    if values.size > 1:
        world = "" if name == "base" else f" on {columns['world'][0]}"
        raise ValueError(f"runs have {name} {' and '.join(values)}{world}; they must have one.")
