"""What every updater shares: it sees what has arrived and says whether to plan anew."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from belated.episode import Bools, Ints, Shape


class Sight(NamedTuple):
    """What an updater sees when feedback has arrived and been counted.

    Rows are (stage, state, action) triples, flattened as (stage * S + state) * A + action. Where
    only rewards are late, the counts are of rewards.
    """

    n: Ints  # (rows) N', the counts now
    epoch: Ints  # (rows) the counts when the last plan was made
    touched: Ints  # the rows of this arrival, in the order they came; a row may stand twice
    arrived: int  # episodes, or steps of one, in this arrival
    since: int  # arrivals since the last plan, this one included
    alpha: float = math.inf  # what `Updater.pace` said when the epoch began


class Outset(NamedTuple):
    """What is known when an epoch begins."""

    shape: Shape
    episodes: int  # K
    base: str  # the base's name
    delta: float
    mean_delay: float  # observed so far; an episode in flight counts as late as it is already


class Explorer:
    """Where the played policy explores instead; the default is nowhere."""

    def see(self, step: int, state: int, action: int) -> None:
        """Take note of an observed step."""

    def marks(self) -> Bools | None:
        """(H, S, A): the actions to draw from, where any is marked."""
        return None


@dataclass(frozen=True)
class Updater:
    """When to plan. A user's own needs a `name` and `due`; the rest has defaults."""

    name: ClassVar[str] = "updater"

    def due(self, sight: Sight) -> bool:
        """Whether to plan now, after an arrival."""
        raise TypeError(f"{type(self).__name__} needs a method due(sight).")

    def pace(self, outset: Outset) -> float:
        """A number for the epoch that begins, which `due` sees as `sight.alpha`."""
        return math.inf

    def explorer(self, shape: Shape) -> Explorer | None:
        """A fresh explorer for a new learner, if the updater has one."""
        return None
