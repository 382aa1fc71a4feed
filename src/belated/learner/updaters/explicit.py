"""Explicit exploration (Lancewicki, Rosenberg, Mansour 2022): draw actions until enough is known.

While a state has been observed too seldom, its action is drawn uniformly; everything observed
feeds the base, which plans at every arrival. "Too seldom" is a count below

    m = c * tau_max * ln(S H / delta)

and needs the largest delay in advance; a simulation supplies the realised one. The defaults are
the rule that matches the published curves of Howson, Pike-Burke and Filippi: a state explores
while any of its actions, counted over all steps, is below m, and then over all actions.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from belated.episode import Bools, Shape
from belated.learner.bases.base import check_choice
from belated.learner.updaters.updater import Explorer, Sight, Updater


@dataclass(frozen=True)
class ExplicitExploration(Updater):
    """Explore where counts are low, then follow the base.

    - `tau_max`: the largest delay; a simulation takes the realised one if it is not given.
    - `threshold`: m itself, instead of the formula.
    - `unit`: "sha", a state explores while one of its actions is below m; "sh", while the state is.
    - `draw`: "all" actions, or only the "rare" ones, those below m ("sha" only).
    - `pooled`: count over all steps, or for each step apart.
    - `log`: "SH" for ln(SH/delta), "SHA" for ln(SHA/delta), "none" for 1.
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
            raise ValueError("draw is 'rare'; with unit='sh' no action is rarer than another.")
        for name in ("tau_max", "threshold", "c"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{name} is {value}; it must be a finite number of at least 0.")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta}; it must lie strictly between 0 and 1.")

    def due(self, sight: Sight) -> bool:
        return sight.arrived > 0

    def least(self, shape: Shape) -> float:
        """m: a count below it means exploring."""
        if self.threshold is not None:
            return self.threshold
        if self.tau_max is None:
            raise ValueError(
                "tau_max is missing; explicit exploration needs the largest delay, or a threshold."
            )
        size = shape.states * shape.horizon * (shape.actions if self.log == "SHA" else 1)
        log = 1.0 if self.log == "none" else math.log(size / self.delta)
        return self.c * self.tau_max * log

    def explorer(self, shape: Shape) -> "Tally":
        return Tally(self, shape)


class Tally(Explorer):
    """How often each (step, state, action) has been observed, and so where to explore."""

    def __init__(self, rule: ExplicitExploration, shape: Shape) -> None:
        H, S, A = shape.table
        self.rule = rule
        self.horizon = H
        self.least = rule.least(shape)
        self.seen = np.zeros((1 if rule.pooled else H, S, A), np.int64)

    def see(self, step: int, state: int, action: int) -> None:
        self.seen[0 if self.rule.pooled else step, state, action] += 1

    def marks(self) -> Bools:
        if self.rule.unit == "sh":
            few = self.seen.sum(axis=2, keepdims=True) < self.least
        else:
            few = self.seen < self.least
        if self.rule.draw == "all":
            few = few.any(axis=2, keepdims=True)
        H = self.horizon
        return np.broadcast_to(few, (H, *self.seen.shape[1:])).copy()
