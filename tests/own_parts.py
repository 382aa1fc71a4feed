"""A user's own base, updater, delay law and world, as objects, classes and functions."""

from dataclasses import dataclass

import belated as bl


@dataclass(frozen=True)
class OwnBase(bl.UCRL2):
    name = "own"


OWN_BASE = OwnBase(scale=0.2)


def own_base(scale: float = 0.1, *, ties: str = "first") -> OwnBase:
    return OwnBase(scale=scale, ties=ties)  # type: ignore[arg-type]


class Bases:
    Inner = OwnBase


@dataclass(frozen=True)
class OwnUpdater(bl.Updater):
    alpha: float = 2.0

    name = "own"

    def due(self, arrival: bl.Arrival) -> bool:
        return bl.Lazy(self.alpha).due(arrival)

    def lazy_alpha(self) -> float:
        return self.alpha


OWN_UPDATER = OwnUpdater(3.0)

OWN_LAW = bl.Law("own", 2.0, bl.delays.poisson(2).quantiles)


def own_law(mean: float) -> bl.Law:
    return bl.Law(f"own {mean}", mean, bl.delays.poisson(mean).quantiles)


OWN_WORLD = bl.chain(4)


def own_world(states: int = 3) -> bl.MDP:
    return bl.chain(states)


def wrong() -> str:
    return "nothing"


NUMBER = 7
