"""Baselines: epsilon-greedy, random actions, a given policy, and the optimal policy of a world.

Epsilon-greedy plans with Q = r^ + <P^, V~_{h+1}>, or Q = r^ if the row has no observations. The
estimate r^ is the reward if it is known; otherwise it is the mean of the observed rewards, 0 if
there are none. No baseline has a regret guarantee; they serve as reference values for regret.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.check import check_number
from belated.episode import Ints, Shape
from belated.learner.backup import Row, Stage, backup, cap, mean
from belated.learner.bases.base import NO_RULE, BackupRule, BaseAlgorithm, TieBreakingBase


@backup
def greedy(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    return row.reward + (mean(stage, row) if row.n > 0 else 0.0)


@dataclass(frozen=True)
class EpsilonGreedy(TieBreakingBase):
    """Base algorithm epsilon-greedy: optimal for the empirical model, with random exploration.

    At each step the action is drawn uniformly with probability epsilon; otherwise it is the best
    action of the empirical model.

    Parameters
    ----------
    epsilon : float
        Probability of drawing the action uniformly, in [0, 1].
    ties : {"first", "random"}
        Choice among several actions with the largest value. "first": the action with the lowest
        index. "random": an action drawn at random. If rewards are unknown, "random" learns faster,
        because all actions are tied until a reward above 0 is observed.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=EpsilonGreedy(epsilon=0.1), **setting).total_regret, 1)
    221.7
    """

    epsilon: float = 0.1

    name = "epsilon-greedy"
    reward_estimate = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon", self.epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon}.")

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return BackupRule(greedy, np.zeros(1), reads="successors")


@dataclass(frozen=True)
class UniformRandom(BaseAlgorithm):
    """Base algorithm that draws every action uniformly and does not learn."""

    name = "random"
    reward_estimate = "mean"
    epsilon = 1.0

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return NO_RULE._replace(reads="successors")


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
