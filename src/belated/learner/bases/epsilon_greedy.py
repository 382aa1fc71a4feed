"""Baselines without confidence bounds: epsilon-greedy, and uniformly random actions.

    Q = r^ + <P^, V>,   and r^ without observations

Neither has a guarantee; they give regret a scale.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_number
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
    """Greedy policy of the empirical model, with a uniform action with probability epsilon.

    Parameters
    ----------
    epsilon : float
        Probability of a uniformly drawn action at each step, in [0, 1].
    ties : {"first", "random"}
        "random" learns faster: without observed rewards, all actions are tied.
    """

    epsilon: float = 0.1

    name = "epsilon-greedy"
    reward_estimate = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon", self.epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon}.")

    @property
    def exploration_rate(self) -> float:
        return float(self.epsilon)

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return BackupRule(greedy, np.zeros(1), reads="successors")


@dataclass(frozen=True)
class UniformRandom(BaseAlgorithm):
    """Uniformly random actions at every step."""

    name = "random"
    reward_estimate = "mean"

    @property
    def exploration_rate(self) -> float:
        return 1.0

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return BackupRule(zero, np.zeros(1), reads="successors")
