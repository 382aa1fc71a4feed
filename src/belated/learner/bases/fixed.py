"""Base algorithms that do not learn: a given policy, or the optimal policy of a simulated world."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.episode import Ints, Shape
from belated.learner.backup import Row, Stage, backup, cap
from belated.learner.bases.base import BackupRule, BaseAlgorithm


@backup
def fixed(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    chosen = constants[stage.h * stage.v.size + row.s] == row.a
    return cap(stage) if chosen else 0.0


@dataclass(frozen=True)
class Fixed(BaseAlgorithm):
    """Base algorithm that always plays a given deterministic policy and does not learn.

    Parameters
    ----------
    actions : array_like
        Integers of shape (H, S): the action for each step and state.

    Examples
    --------
    >>> from belated import Active, chain, simulate
    >>> first_action = Fixed(np.zeros((3, 3), int))
    >>> simulate(chain(3), base=first_action, updater=Active(), episodes=100).updates
    99
    """

    actions: Any = ()

    name = "fixed"

    def __post_init__(self) -> None:
        array = np.asarray(self.actions)
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise ValueError(
                "actions must be integers of shape (H, S), one for each step and state, got an "
                f"array of shape {array.shape} and type {array.dtype}."
            )
        # as plain tuples a base can be compared, hashed and saved
        object.__setattr__(self, "actions", tuple(tuple(row) for row in array.tolist()))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        table = np.array(self.actions, np.float64)
        H, S, A = shape.table
        if table.shape != (H, S):
            raise ValueError(f"actions must have shape (H, S) = {(H, S)}, got {table.shape}.")
        for wrong in table[(table < 0) | (table >= A)][:1]:
            raise ValueError(f"actions must lie in 0 .. {A - 1}, got {wrong:g}.")
        shape.check_actions("Each of actions", np.array(self.actions))
        return BackupRule(fixed, table.ravel(), reads="successors")


@dataclass(frozen=True)
class Optimal(BaseAlgorithm):
    """Base algorithm that always plays the optimal policy, whose regret is zero.

    It is available in simulations only, where the world is known.
    """

    name = "optimal"
    needs_optimal_policy = True

    def with_optimal_policy(self, actions: Ints) -> Fixed:
        return Fixed(actions=actions)

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        raise ValueError(
            "Optimal needs the world, which only a simulation knows; use it in bl.simulate, not "
            "in a Learner."
        )
