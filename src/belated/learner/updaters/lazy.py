"""Lazy updating (Algorithm 2): plan when some triple's count has grown by 1 + 1/alpha.

The rule as printed, N' >= (1 + 1/alpha) N'_epoch, holds for every triple never seen (0 >= 0), so
it is read as: strictly more data, and alpha (N' - N'_epoch) >= N'_epoch. The counts are integers
and so, in effect, is the comparison: for an integer alpha the product is exact.
"""

from dataclasses import dataclass
from typing import Literal

from belated.compiled import inlined, kernel
from belated.episode import Ints
from belated.learner.bases.base import check_number
from belated.learner.updaters.updater import Outset, Sight, Updater
from belated.theory import alpha_for, lazy_terms


@inlined
def has_grown(n: int, epoch: int, alpha: float) -> bool:
    """Whether a count has grown enough since the epoch began; alpha may be infinite."""
    return n > epoch and alpha * (n - epoch) >= epoch


@kernel
def any_has_grown(n: Ints, epoch: Ints, rows: Ints, alpha: float) -> bool:
    """Whether one of these rows has."""
    for row in rows:  # noqa: SIM110 - compiled, which any() is not
        if has_grown(n[row], epoch[row], alpha):
            return True
    return False


@dataclass(frozen=True)
class Lazy(Updater):
    """Plan when a triple's count has grown by 1 + 1/alpha; alpha = inf is active updating.

    With alpha="auto" each epoch takes the alpha that minimises the bound of Theorem 2 for the
    mean delay observed so far (`belated.theory.best_alpha`). An episode still in flight counts as
    late as it is already, so that those that wait are not ignored. The learner must be told of
    the episodes it begins (`Learner.start`), or it takes the delay for zero.
    """

    alpha: float | Literal["auto"]

    name = "lazy"

    def __post_init__(self) -> None:
        if self.alpha == "auto":
            return
        check_number("alpha", self.alpha)
        if not self.alpha >= 1:
            raise ValueError(
                f"alpha is {self.alpha}; it must be at least 1 (math.inf is active), or 'auto'."
            )
        object.__setattr__(self, "alpha", float(self.alpha))

    def pace(self, outset: Outset) -> float:
        if self.alpha != "auto":
            return self.alpha
        shape, episodes, base, delta, mean_delay = outset
        terms = lazy_terms(shape, episodes=episodes, base=base, delta=delta)
        return float(alpha_for(terms, mean_delay))

    def due(self, sight: Sight) -> bool:
        alpha = sight.alpha if self.alpha == "auto" else self.alpha
        return any_has_grown(sight.n, sight.epoch, sight.touched, alpha)
