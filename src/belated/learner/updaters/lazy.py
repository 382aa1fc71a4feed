"""Lazy updating (Algorithm 2): plan when the count of some triple has grown by 1 + 1/alpha.

The condition as printed, N' >= (1 + 1/alpha) N'_epoch, holds for every unobserved triple (0 >= 0),
so it is read as: more observations than at the start of the epoch, and
alpha (N' - N'_epoch) >= N'_epoch. Counts are integers, and for an integer alpha the comparison
is exact.
"""

from dataclasses import dataclass
from typing import Literal

from belated.arguments import check_number
from belated.compiled import inlined, kernel
from belated.episode import Ints
from belated.learner.updaters.updater import Arrival, EpochStart, Updater
from belated.theory.alpha import lazy_terms
from belated.theory.compiled import alpha_for


@inlined
def has_grown(n: int, epoch_n: int, alpha: float) -> bool:
    """Return whether a count has grown enough for a plan: the lazy trigger.

    Parameters
    ----------
    n : int
        Count now.
    epoch_n : int
        Count at the last plan.
    alpha : float
        At least 1; infinity gives active updating.

    Returns
    -------
    bool
        True if n > epoch_n and alpha (n - epoch_n) >= epoch_n.
    """
    return n > epoch_n and alpha * (n - epoch_n) >= epoch_n


@kernel
def any_has_grown(counts: Ints, epoch_counts: Ints, rows: Ints, alpha: float) -> bool:
    """Return whether `has_grown` holds for any row.

    Parameters
    ----------
    counts, epoch_counts : Ints
        Counts now and at the last plan.
    rows : Ints
        Rows to look at.
    alpha : float
        At least 1.

    Returns
    -------
    bool
        Whether a plan is due.
    """
    for row in rows:  # noqa: SIM110 - compiled, which any() is not
        if has_grown(counts[row], epoch_counts[row], alpha):
            return True
    return False


@dataclass(frozen=True)
class Lazy(Updater):
    """Plan when the count of a triple has grown by 1 + 1/alpha.

    Parameters
    ----------
    alpha : float or "auto"
        At least 1; `math.inf` is active updating. With "auto", each epoch uses the alpha that
        minimises the bound of Theorem 2 for the mean delay observed so far
        (`belated.theory.best_alpha`). An episode in flight counts with its delay so far. Episodes
        must then be registered by `Learner.start`, or the delay is taken to be zero.
    """

    alpha: float | Literal["auto"]

    name = "lazy"
    is_lazy = True

    def __post_init__(self) -> None:
        if self.alpha == "auto":
            return
        check_number("alpha", self.alpha)
        if not self.alpha >= 1:
            raise ValueError(
                f"alpha must be at least 1 (math.inf is active updating) or 'auto', "
                f"got {self.alpha}."
            )
        object.__setattr__(self, "alpha", float(self.alpha))

    def due(self, arrival: Arrival) -> bool:
        alpha = arrival.alpha if self.alpha == "auto" else self.alpha
        return any_has_grown(arrival.counts, arrival.epoch_counts, arrival.rows, alpha)

    def epoch_alpha(self, start: EpochStart) -> float:
        if self.alpha != "auto":
            return self.alpha
        terms = lazy_terms(start.shape, episodes=start.episodes, base=start.base, delta=start.delta)
        return float(alpha_for(terms, start.mean_delay))

    def lazy_alpha(self) -> float | Literal["auto"]:
        return self.alpha
