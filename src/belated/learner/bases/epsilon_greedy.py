"""Baselines without confidence: greedy for the empirical model, but for a draw now and then.

    Q = r^ + <P^, V>,   0 after a triple that was never seen

Neither has a guarantee; they give regret a scale.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, mean
from belated.learner.bases.base import Base, Kernel, check_number


@backup
def greedy(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    return row.reward + (mean(stage, row) if row.n > 0 else 0.0)


@dataclass(frozen=True)
class EpsilonGreedy(Base):
    """Any action with probability epsilon, at every step; else what looks best.

    `ties="random"` is kinder to it: until something has been earned, everything is a tie.
    """

    epsilon: float = 0.1

    name = "epsilon-greedy"
    hopes = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon", self.epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is {self.epsilon}; it must lie in [0, 1].")

    @property
    def explores(self) -> float:
        return float(self.epsilon)

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        return Kernel(greedy, np.zeros(1), reads="successors")


@dataclass(frozen=True)
class UniformRandom(Base):
    """Any action, every action equally likely, at every step."""

    name = "random"
    hopes = "mean"

    @property
    def explores(self) -> float:
        return 1.0

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        return Kernel(nothing, np.zeros(1), reads="successors")


@backup
def nothing(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    return 0.0
