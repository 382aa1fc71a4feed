"""Multi-instance updating, "BOLD" (Joulani, Gyorgy, Szepesvari 2013): a copy for each open episode.

Each episode is played by the lowest-numbered instance of the base that has no feedback
outstanding, or by a new one. Feedback goes to the instance that played the episode, which plans at
once and is free again. After K episodes there are 1 + max_k S_k instances, each of which has seen
immediate feedback on its own episodes only.
"""

import math
from dataclasses import dataclass

from belated.learner.updaters.updater import Arrival, Updater


@dataclass(frozen=True)
class MultiInstance(Updater):
    """One instance of the base for each episode in flight."""

    name = "multi"
    multi_instance = True

    def due(self, arrival: Arrival) -> bool:
        return arrival.arrived > 0

    def lazy_alpha(self) -> float:
        return math.inf
