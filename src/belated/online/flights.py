"""Flight: an episode that was opened and is not back, or not all of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from belated.learner.feedback import Parcel


@dataclass(slots=True)
class Flight:
    """What a fold must know of an episode until it is back."""

    number: int
    """What the learner calls it."""
    at: int
    """When it was opened."""
    came: int = 0
    """How many of its steps have come back, or of its rewards where only those are late."""
    path: Parcel | None = None
    """Where only rewards are late."""
    early: dict[int, float] = field(default_factory=dict)
    """Rewards that came before the path, by step."""

    @property
    def untouched(self) -> bool:
        """Whether nothing of it has been taken in."""
        return not (self.came or self.path or self.early)

    def snapshot(self) -> dict[str, Any]:
        """Plain arrays and numbers."""
        path = self.path
        walked = None if path is None else np.append(path.states, path.successors[-1:])
        return {
            "number": self.number,
            "at": self.at,
            "came": self.came,
            "states": walked,
            "actions": None if path is None else path.actions.copy(),
            "early": [[step, reward] for step, reward in self.early.items()],
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Flight":
        """As it was."""
        number, states = state["number"], state["states"]
        path = None if states is None else path_parcel(number, states, state["actions"])
        return cls(number, state["at"], state["came"], path, dict(state["early"]))


def path_parcel(number: int, states: Any, actions: Any) -> Parcel:
    """What was done in an episode whose rewards are late."""
    states, actions = np.array(states, np.int64), np.array(actions, np.int64)
    steps = np.arange(actions.size)
    return Parcel(number, steps, states[:-1], actions, states[1:], None, late=False)
