"""Explicit exploration (Lancewicki, Rosenberg, Mansour 2022): draw actions until counts suffice.

While a state has been observed too seldom, its action is drawn uniformly; all observations are
used by the base, which plans at every arrival. "Too seldom" means a count below

    m = c * tau_max * ln(S H / delta)

which needs the largest delay in advance; a simulation supplies the largest delay drawn. The
defaults are the rule that matches the published curves of Howson, Pike-Burke and Filippi: a state
explores while any of its actions, counted over all steps, is below m, and then over all actions.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from belated.arguments import check_choice, check_number
from belated.episode import Shape
from belated.learner.exploration import Exploration
from belated.learner.updaters.updater import Arrival, Updater


@dataclass(frozen=True)
class ExplicitExploration(Updater):
    """Explore where counts are low, then follow the base.

    Parameters
    ----------
    tau_max : float, optional
        Largest delay; a simulation uses the largest delay drawn if it is not given.
    threshold : float, optional
        The count m itself, in place of the formula.
    unit : {"sha", "sh"}
        A state explores while one of its actions is below m, or while the state is.
    draw : {"all", "rare"}
        Draw from all actions, or only from those below m (only with unit="sha").
    pooled : bool
        Count over all steps, or separately for each step.
    log : {"SH", "SHA", "none"}
        Factor ln(SH/delta), ln(SHA/delta) or 1.
    c : float
        Constant factor.
    delta : float
        Probability in the logarithm.
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
        check_choice("unit", self.unit, ("sha", "sh"))
        check_choice("draw", self.draw, ("all", "rare"))
        check_choice("log", self.log, ("SH", "SHA", "none"))
        if self.unit == "sh" and self.draw == "rare":
            raise ValueError("draw='rare' needs unit='sha'; got unit='sh'.")
        for name in ("tau_max", "threshold", "c"):
            value = getattr(self, name)
            if value is not None:
                check_number(name, value)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be finite and at least 0, got {value}.")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie strictly between 0 and 1, got {self.delta}.")

    def due(self, arrival: Arrival) -> bool:
        return arrival.arrived > 0

    def lazy_alpha(self) -> float:
        return math.inf

    def count_threshold(self, shape: Shape) -> float:
        """Return m for a problem of size `shape`: a count below it means exploring."""
        if self.threshold is not None:
            return self.threshold
        if self.tau_max is None:
            raise ValueError(
                "tau_max is missing; explicit exploration needs the largest delay, or a threshold."
            )
        size = shape.states * shape.horizon * (shape.actions if self.log == "SHA" else 1)
        log = 1.0 if self.log == "none" else math.log(size / self.delta)
        return self.c * self.tau_max * log

    def exploration(self, shape: Shape, epsilon: float) -> Exploration:
        threshold = float(self.count_threshold(shape))
        H, S, A = shape.table
        return Exploration(
            visits=np.zeros((1 if self.pooled else H, S, A), np.int64),
            explore=np.full((H, S, A), threshold > 0),
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
                "An episode never comes back, so there is no largest delay; "
                "give ExplicitExploration a tau_max or a threshold."
            )
        return replace(self, tau_max=delay)
