"""Lazy updating (Algorithm 2): plan when some triple's count has grown by 1 + 1/alpha.

The rule as printed, N' >= (1 + 1/alpha) N'_epoch, holds for every triple never seen (0 >= 0), so
it is read as: strictly more data, and alpha (N' - N'_epoch) >= N'_epoch. The counts are integers
and so, in effect, is the comparison: for an integer alpha the product is exact.
"""

import math
from dataclasses import dataclass

from belated.compiled import inlined
from belated.learner.bases.base import check_number
from belated.learner.updaters.updater import Sight, Updater


@inlined
def has_grown(n: int, epoch: int, alpha: float) -> bool:
    """Whether a count has grown enough since the epoch began; alpha may be infinite."""
    return n > epoch and alpha * (n - epoch) >= epoch


@dataclass(frozen=True)
class Lazy(Updater):
    """Plan when a triple's count has grown by 1 + 1/alpha; alpha = inf is active updating."""

    alpha: float

    name = "lazy"

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha)
        if not self.alpha >= 1:
            raise ValueError(f"alpha is {self.alpha}; it must be at least 1 (math.inf is active).")
        object.__setattr__(self, "alpha", float(self.alpha))

    def due(self, sight: Sight) -> bool:
        if math.isinf(self.alpha):
            return sight.arrived > 0
        return any(has_grown(sight.n[i], sight.epoch[i], self.alpha) for i in sight.touched)
