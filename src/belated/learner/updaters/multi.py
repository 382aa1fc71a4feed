"""Multi-instance, "BOLD" (Joulani, Gyorgy, Szepesvari 2013): never wait, start another copy.

Each episode is played by a copy of the base that waits for nothing, the lowest-numbered one, or
by a new copy if all are waiting. Feedback goes to the copy that played the episode, which plans
at once and is free again. After K episodes there are 1 + max_k S_k copies, each of which has met
immediate feedback on its own episodes only.
"""

from dataclasses import dataclass

from belated.learner.updaters.updater import Sight, Updater


@dataclass(frozen=True)
class MultiInstance(Updater):
    """One copy of the base for each episode in flight."""

    name = "multi"

    def due(self, sight: Sight) -> bool:
        return sight.arrived > 0
