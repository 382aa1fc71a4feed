"""Explicit exploration (Lancewicki, Rosenberg, Mansour 2022): explore while counts are low.

While the count of a state is below

    m = c * tau_max * ln(S H / delta)

the action in this state is drawn uniformly. The base uses all observations and plans whenever
feedback arrives. The formula requires the largest delay tau_max in advance; a simulation supplies
the largest delay that it has drawn.

With the default options, which match the published curves of Howson, Pike-Burke and Filippi, the
action is drawn from all actions while any action of the state has a count below m. The count of an
action is its number of observations in the state, summed over all steps. Only allowed actions are
drawn, and only their counts are compared with m.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from belated.check import check_choices, check_factor, check_probability
from belated.episode import Shape
from belated.learner.exploration import Exploration
from belated.learner.updaters.updater import Updater


@dataclass(frozen=True)
class ExplicitExploration(Updater):
    """Updater that plans whenever feedback arrives, and explores in states with low counts.

    In a state with a count below m, actions are drawn at random; in all other states they follow
    the plan. By default m = c * tau_max * ln(S H / delta).

    Parameters
    ----------
    tau_max : float, optional
        Largest delay in episodes. If None, a simulation uses the largest delay that it has drawn.
    threshold : float, optional
        Value of m. If None, m is computed by the formula.
    unit : {"sha", "sh"}
        Count that is compared with m. With "sha", a state is explored while the count of at least
        one of its actions is below m; with "sh", while the count of the state is below m.
    draw : {"all", "rare"}
        Actions to draw from: all actions, or only those with a count below m. "rare" requires
        unit="sha".
    pooled : bool
        Whether counts are summed over all steps; if False, each step has separate counts.
    log : {"SH", "SHA", "none"}
        Logarithmic factor of m: ln(SH/delta), ln(SHA/delta) or 1.
    c : float
        Constant factor of m.
    delta : float
        Probability delta in the logarithmic factor, in (0, 1).

    Examples
    --------
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "uniform:20", "episodes": 2_000}
    >>> simulate(chain(3), updater=ExplicitExploration(), **setting).last_explored
    1383
    """

    tau_max: float | None = None
    threshold: float | None = None
    unit: Literal["sha", "sh"] = "sha"
    draw: Literal["all", "rare"] = "all"
    pooled: bool = True
    log: Literal["SH", "SHA", "none"] = "SH"
    c: float = 1.0
    delta: float = 0.05

    name = "explicit"

    def __post_init__(self) -> None:
        check_choices(self)
        if self.unit == "sh" and self.draw == "rare":
            raise ValueError("draw='rare' needs unit='sha'; got unit='sh'.")
        for name in ("tau_max", "threshold", "c"):
            value = getattr(self, name)
            if value is not None:
                check_factor(name, value)
        check_probability("delta", self.delta)

    def lazy_alpha(self) -> float:
        return math.inf

    def count_threshold(self, shape: Shape) -> float:
        """Return m for a problem of size `shape`; states with a count below m are explored.

        Raise ValueError if neither `tau_max` nor `threshold` is given.
        """
        if self.threshold is not None:
            return self.threshold
        if self.tau_max is None:
            raise ValueError(
                "tau_max is missing; pass the largest delay as tau_max to ExplicitExploration, or "
                "pass a threshold."
            )
        size = shape.states * shape.horizon * (shape.actions if self.log == "SHA" else 1)
        log = 1.0 if self.log == "none" else math.log(size / self.delta)
        return self.c * self.tau_max * log

    def exploration(self, shape: Shape, epsilon: float) -> Exploration:
        threshold = float(self.count_threshold(shape))
        H, S, A = shape.table
        explore = shape.playable.copy() if threshold > 0 else np.zeros(shape.table, np.bool_)
        return Exploration(
            visits=np.zeros((1 if self.pooled else H, S, A), np.int64),
            explore=explore,
            threshold=threshold,
            by_state=self.unit == "sh",
            rare_only=self.draw == "rare",
            epsilon=epsilon,
        )

    def with_longest_delay(self, delay: float) -> Self:
        if self.tau_max is not None or self.threshold is not None:
            return self
        if delay == math.inf:
            raise ValueError(
                "The largest delay is infinite, so tau_max cannot be derived from it; pass tau_max "
                "or threshold to ExplicitExploration."
            )
        return replace(self, tau_max=delay)
