"""What every updater shares: it sees what has arrived and says whether to plan anew."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from belated.episode import Bools, Ints, Shape


class Sight(NamedTuple):
    """What an updater sees when feedback has arrived and been counted.

    Rows are (stage, state, action) triples, flattened as (stage * S + state) * A + action.
    """

    n: Ints  # (rows) N', the counts now
    epoch: Ints  # (rows) the counts when the last plan was made
    touched: Ints  # the rows of this arrival, in the order they came; a row may stand twice
    arrived: int  # episodes in this arrival
    since: int  # episodes arrived since the last plan, this arrival included


class Explorer:
    """Where the played policy explores instead; the default is nowhere."""

    def see(self, states: Ints, actions: Ints) -> None:
        """Take note of an observed episode."""

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

    def explorer(self, shape: Shape) -> Explorer | None:
        """A fresh explorer for a new learner, if the updater has one."""
        return None
