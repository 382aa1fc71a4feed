"""Optimistic Q-learning without a model (Jin, Allen-Zhu, Bubeck, Jordan 2018).

For each step (h, s, a, r, y) in the order of arrival, with t = N(h, s, a) after it,
alpha_t = (H + 1) / (H + t) and log = ln(S A T / delta):

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r + V_{h+1}(y) + b_t)
    V_h(s)    <- min(H, max_a Q_h(s, a))

    UCB-H    b_t = c sqrt(H^3 log / t)
    UCB-B    b_t = (beta_t - (1 - alpha_t) beta_{t-1}) / (2 alpha_t),
             beta_t = min(c (sqrt(H (W_t + H) log / t) + sqrt(H^7 S A) log / t),
                          c sqrt(H^3 log / t))

with W_t the variance of the V_{h+1}(y) seen so far. The paper leaves c open; it is 1 here, times
`scale`. Without delay this is the online algorithm, step for step. Late feedback: an episode is
learnt when it has come back and the updater says so, those that came earlier first, episodes of
one moment in the order they were played. The result depends on that order, unlike a plan.

It has no bound under delay that we know of. Deviations: `range="H-h+1"` starts and caps Q lower,
which is still optimistic; `monotone` has no meaning.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from belated.episode import Shape
from belated.learner.bases.base import Base, Kernel, check_choice
from belated.learner.bases.epsilon_greedy import nothing

BONUSES: Final = ("hoeffding", "bernstein")


@dataclass(frozen=True)
class QLearning(Base):
    """Optimistic Q-learning.

    - `bonus`: "hoeffding" is UCB-H, "bernstein" UCB-B.
    - `range`: what Q starts at and V is capped at: "H", as published, or "H-h+1".
    """

    bonus: Literal["hoeffding", "bernstein"] = "hoeffding"
    range: Literal["H", "H-h+1"] = "H"

    name = "q-learning"
    stepwise = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("bonus", self.bonus, BONUSES)
        check_choice("range", self.range, ("H", "H-h+1"))

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        H, S, A = shape.table
        log = math.log(S * A * H * episodes / self.delta)
        kind = BONUSES.index(self.bonus)
        lower = math.sqrt(float(H**7 * S * A)) * log
        tight = float(self.range == "H-h+1")
        return Kernel(nothing, np.array([tight, kind, self.scale, log, lower]), "successors")
