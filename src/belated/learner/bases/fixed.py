"""Policies that never change: one that is given, and the optimal one of the world at hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, cap
from belated.learner.bases.base import Base, Kernel


@backup
def fixed(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    chosen = constants[stage.h * stage.v.size + row.s] == row.a
    return cap(stage) if chosen else 0.0


@dataclass(frozen=True)
class Fixed(Base):
    """Plays `actions`, (H, S), for ever."""

    actions: Any = ()

    name = "fixed"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = np.asarray(self.actions)
        if given.ndim != 2 or given.dtype.kind not in "iu":
            raise ValueError("actions must be integers (H, S): one for each step and state.")
        # as plain tuples a base can be compared, hashed and written down
        object.__setattr__(self, "actions", tuple(tuple(row) for row in given.tolist()))

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        table = np.array(self.actions, np.float64)
        H, S, A = shape.table
        if table.shape != (H, S):
            raise ValueError(f"actions has shape {table.shape}; this problem needs {(H, S)}.")
        for wrong in table[(table < 0) | (table >= A)][:1]:
            raise ValueError(f"actions holds {wrong:g}; allowed are 0 .. {A - 1}.")
        return Kernel(fixed, table.ravel(), reads="successors")


@dataclass(frozen=True)
class Optimal(Base):
    """Plays the optimal policy: the zero of the scale. Only a simulation knows what that is."""

    name = "optimal"

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        raise ValueError("The optimal policy is known in a simulation only; see bl.simulate.")
