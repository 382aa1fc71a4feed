"""Active updating (Algorithm 1): plan whenever something arrives."""

from dataclasses import dataclass

from belated.learner.updaters.updater import Sight, Updater


@dataclass(frozen=True)
class Active(Updater):
    """Plan as soon as anything arrives."""

    name = "active"

    def due(self, sight: Sight) -> bool:
        return sight.arrived > 0
