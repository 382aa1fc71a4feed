"""Baselines without confidence bounds: epsilon-greedy, and uniformly random actions.

Epsilon-greedy plans with Q = r^ + <P^, V~_{h+1}>, or Q = r^ if the row has no observations. The
estimate r^ is the reward if it is known; otherwise it is the mean of the observed rewards, 0 if
there are none. Neither baseline has a regret guarantee; they serve as reference values for regret.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from belated.check import check_number
from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, mean
from belated.learner.bases.base import BackupRule, BaseAlgorithm, TieBreakingBase


@backup
def greedy(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    return row.reward + (mean(stage, row) if row.n > 0 else 0.0)


@backup
def zero(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    return 0.0


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
        return BackupRule(zero, np.zeros(1), reads="successors")
