"""Active updating (Algorithm 1): plan whenever feedback arrives."""

import math
from dataclasses import dataclass

from belated.learner.updaters.updater import Arrival, Updater


@dataclass(frozen=True)
class Active(Updater):
    """Plan whenever feedback arrives."""

    name = "active"

    def due(self, arrival: Arrival) -> bool:
        return arrival.arrived > 0

    def lazy_alpha(self) -> float:
        return math.inf
