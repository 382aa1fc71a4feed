"""Flight: an episode that was opened and is not back, or not all of it."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from belated.learner.feedback import Parcel


@dataclass(slots=True)
class Flight:
    """What a fold must know of an episode until it is back."""

    number: int
    """What the learner calls it."""
    at: int
    """When it was opened."""
    version: int
    """Of the policy it is played with."""
    place: int
    """How many had been opened by then, itself included."""
    came: int = 0
    """How many of its steps have come back, or of its rewards where only those are late."""
    path: Parcel | None = None
    """Where only rewards are late."""
    early: dict[int, float] = field(default_factory=dict)
    """Rewards that came before the path, by step."""
    earned: float = 0.0
    """The sum of the rewards that were taken in."""

    @property
    def untouched(self) -> bool:
        """Whether nothing of it has been taken in."""
        return not (self.came or self.path or self.early)

    def part(self) -> dict[str, Any]:
        """What of it has been taken in, as plain arrays and numbers."""
        path = self.path
        walked = None if path is None else np.append(path.states, path.successors[-1:])
        return {
            "came": self.came,
            "states": walked,
            "actions": None if path is None else path.actions.copy(),
            "early": [[step, reward] for step, reward in self.early.items()],
            "earned": self.earned,
        }

    def take(self, part: dict[str, Any]) -> None:
        """Go on where `part` was told."""
        states = part["states"]
        if states is not None:
            self.path = path_parcel(self.number, states, part["actions"])
        self.came, self.early = part["came"], dict(part["early"])
        self.earned = part["earned"]


COLUMNS: Final = ("number", "at", "version", "place")


def snapshot_all(flights: dict[str, Flight]) -> dict[str, Any]:
    """Many by their ids: of most nothing has been taken in, and they are numbers in arrays."""
    columns = {
        name: np.array([getattr(flight, name) for flight in flights.values()], np.int64)
        for name in COLUMNS
    }
    parts = [
        [place, flight.part()]
        for place, flight in enumerate(flights.values())
        if not flight.untouched
    ]
    return {**columns, "ids": " ".join(flights), "parts": parts}


def restore_all(state: dict[str, Any]) -> dict[str, Flight]:
    """As they were, in the same order."""
    rows = zip(*(state[name].tolist() for name in COLUMNS), strict=True)
    flights = [Flight(*row) for row in rows]
    for place, part in state["parts"]:
        flights[place].take(part)
    return dict(zip(state["ids"].split(), flights, strict=True))


def path_parcel(number: int, states: Any, actions: Any) -> Parcel:
    """What was done in an episode whose rewards are late."""
    states, actions = np.array(states, np.int64), np.array(actions, np.int64)
    steps = np.arange(actions.size)
    return Parcel(number, steps, states[:-1], actions, states[1:], None, late=False)
