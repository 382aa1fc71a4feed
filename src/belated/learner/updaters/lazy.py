"""Lazy updating (Algorithm 2 of the paper): plan when a count has grown by a factor of 1 + 1/alpha.

Let N'_epoch be the count of a triple at the start of the epoch. The condition printed in the paper,
N' >= (1 + 1/alpha) N'_epoch, holds for every unobserved triple (0 >= 0). It is therefore replaced
by two conditions: N' > N'_epoch and alpha (N' - N'_epoch) >= N'_epoch. Counts are integers, so the
comparison is exact if alpha is an integer.
"""

from dataclasses import dataclass
from typing import Final, Literal

from belated.check import check_number
from belated.compiled import inlined
from belated.learner.updaters.updater import EpochStart, Updater
from belated.theory import alpha_for, lazy_terms

LAZY_PLANS: Final = 11.0
"""Estimated number of plans of a run with alpha = 1, divided by the square root of the number of
rows of the counts."""


@inlined
def has_grown(n: int, epoch_n: int, alpha: float) -> bool:
    """Return whether a count has grown by a factor of 1 + 1/alpha since the last plan.

    Parameters
    ----------
    n : int
        Current count.
    epoch_n : int
        Count at the last plan.
    alpha : float
        Parameter alpha of lazy updating, at least 1; infinity gives active updating.

    Returns
    -------
    bool
        True if n > epoch_n and alpha (n - epoch_n) >= epoch_n.
    """
    return n > epoch_n and alpha * (n - epoch_n) >= epoch_n


@dataclass(frozen=True)
class Lazy(Updater):
    """Updater that plans when the count of a triple has grown by a factor of 1 + 1/alpha.

    Parameters
    ----------
    alpha : float or "auto"
        Parameter alpha, at least 1; `math.inf` is active updating. With "auto", each epoch uses the
        alpha that minimises the formula of the regret bound of Theorem 2 for the scale of the base
        and the mean delay observed so far (see `belated.theory.best_alpha`). This mean includes the
        episodes in flight, each with its delay so far. Each episode must be started with
        `Learner.start`; if none is, the mean delay is taken to be zero.

    Examples
    --------
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "geometric:20", "episodes": 500}
    >>> [simulate(chain(3), updater=Lazy(alpha), **setting).updates for alpha in (1, 10, 100)]
    [15, 67, 252]
    """

    alpha: float | Literal["auto"]

    name = "lazy"
    is_lazy = True

    def __post_init__(self) -> None:
        if self.alpha == "auto":
            return
        if isinstance(self.alpha, str):
            raise TypeError(f"alpha must be a number or 'auto', got {self.alpha!r}.")
        check_number("alpha", self.alpha)
        if not self.alpha >= 1:
            raise ValueError(
                f"alpha must be at least 1 (math.inf is active updating) or 'auto', "
                f"got {self.alpha}."
            )
        object.__setattr__(self, "alpha", float(self.alpha))

    def epoch_alpha(self, start: EpochStart) -> float:
        if self.alpha != "auto":
            return self.alpha
        terms = lazy_terms(
            start.shape,
            episodes=start.episodes,
            base=start.base,
            delta=start.delta,
            scale=start.scale,
        )
        return alpha_for(terms, start.mean_delay)

    def lazy_alpha(self) -> float | Literal["auto"]:
        return self.alpha

    def expected_plans(self, episodes: int, rows: int) -> float:
        alpha = 10.0 if self.alpha == "auto" else self.alpha
        fitted = LAZY_PLANS * alpha**0.7 * rows**0.5  # fitted to measurements
        return min(super().expected_plans(episodes, rows), fitted)
