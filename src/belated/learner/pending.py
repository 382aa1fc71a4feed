"""Pending: an episode that was begun, or has come back in part."""

from typing import Any

import numpy as np

from belated.learner.feedback import Parcel


class Pending:
    """Which copy of the base played it, and which of its steps have come."""

    __slots__ = ("came", "owner", "path")

    def __init__(self, owner: int, came: int = 0, path: Parcel | None = None) -> None:
        self.owner = owner
        self.came = came  # a bit for each step
        self.path = path  # where only rewards are late

    def take(self, parcel: Parcel) -> None:
        """Note what has come, or refuse it if it had already."""
        if parcel.transitions and self.path is not None:
            raise ValueError(f"The path of episode {parcel.id} is known already; it counts once.")
        if not parcel.late:
            if self.came:
                raise ValueError(
                    f"The path of episode {parcel.id} comes after steps of it; they count once."
                )
            self.path = parcel
            return
        for step in parcel.steps.tolist():
            if self.came >> step & 1:
                raise ValueError(
                    f"Episode {parcel.id} brings step {step} that has come already; it counts once."
                )
            self.came |= 1 << step

    def complete(self, horizon: int) -> bool:
        """Whether nothing is missing."""
        return self.came.bit_count() == horizon

    def copy(self) -> "Pending":
        """One that may be changed."""
        return Pending(self.owner, self.came, self.path)

    @property
    def untouched(self) -> bool:
        """Whether nothing of it has come."""
        return not self.came and self.path is None

    def snapshot(self) -> dict[str, Any]:
        """Plain arrays and numbers, but for the owner."""
        path = self.path
        known = None if path is None else np.append(path.states, path.successors[-1:])
        return {
            "came": [step for step in range(self.came.bit_length()) if self.came >> step & 1],
            "states": known,
            "actions": None if path is None else path.actions.copy(),
            "id": None if path is None else path.id,
        }

    @classmethod
    def restore(cls, owner: int, state: dict[str, Any]) -> "Pending":
        """As it was."""
        path = None
        if state["states"] is not None:
            states, actions = state["states"], state["actions"]
            steps = np.arange(actions.size)
            path = Parcel(state["id"], steps, states[:-1], actions, states[1:], None, late=False)
        return cls(owner, sum(1 << step for step in state["came"]), path)


def snapshot_all(pending: dict[int, Pending]) -> dict[str, Any]:
    """Many by their ids: of most nothing has come, and they are numbers in two arrays."""
    return {
        "ids": np.array(list(pending), np.int64),
        "owners": np.array([one.owner for one in pending.values()], np.int64),
        "parts": [
            [place, one.snapshot()]
            for place, one in enumerate(pending.values())
            if not one.untouched
        ],
    }


def restore_all(state: dict[str, Any]) -> dict[int, Pending]:
    """As they were, in the same order."""
    ids, owners = state["ids"].tolist(), state["owners"].tolist()
    found = {id: Pending(owner) for id, owner in zip(ids, owners, strict=True)}
    for place, part in state["parts"]:
        found[ids[place]] = Pending.restore(owners[place], part)
    return found
