"""`Setting`: all inputs of a run except the seed, as texts and numbers."""

from dataclasses import dataclass
from typing import Any, Literal

from belated.delays.laws import parse as parse_delay
from belated.learner.bases import BASE_NAMES
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.bases.planner import Planner
from belated.learner.updaters import UPDATER_NAMES
from belated.learner.updaters.updater import Updater
from belated.mdp.worlds import world as parse_world
from belated.options import SimulationOptions, option_values
from belated.simulation.simulation import Simulation

DEFAULT_POINTS = 200
"""Number of evenly spaced checkpoints of a run if `Setting.points` is None."""

Options = tuple[tuple[str, Any], ...]
"""Names and values of options, as a hashable tuple of pairs."""


@dataclass(frozen=True, kw_only=True)
class Setting(SimulationOptions):
    """All inputs of a run except the seed, as texts and numbers; see `belated.names`.

    The texts are parsed by `build`, which checks them. The options of a simulation are inherited
    from `SimulationOptions`.
    """

    world: str
    base: str
    delay: str = "constant:0"
    updater: str = "active"
    episodes: int
    base_options: Options = ()
    updater_options: Options = ()
    rewards: Literal["known", "unknown"] = "known"
    points: int | None = None  # evenly spaced checkpoints; None: DEFAULT_POINTS and early ones

    @property
    def every(self) -> int | None:
        """Number of episodes between two checkpoints; None if `points` is None."""
        return None if self.points is None else max(1, self.episodes // self.points)

    def parse_base(self) -> BaseAlgorithm | Planner:
        """Return the base with its options. Raise ValueError if it is invalid."""
        return BASE_NAMES.parse(self.base, dict(self.base_options))

    def parse_updater(self) -> Updater:
        """Return the updater with its options. Raise ValueError if it is invalid."""
        return UPDATER_NAMES.parse(self.updater, dict(self.updater_options))

    def build(self, **arguments: Any) -> Simulation:
        """Return the simulation of this setting. Raise ValueError if the setting is invalid.

        `arguments` are further arguments of `Simulation`, or others in place of those of the
        setting.
        """
        own = {
            "world": parse_world(self.world),
            "base": self.parse_base(),
            "updater": self.parse_updater(),
            "delay": parse_delay(self.delay),
            "episodes": self.episodes,
            "every": self.every,
            "points": DEFAULT_POINTS,
            "rewards": self.rewards,
            **option_values(self, SimulationOptions),
        }
        return Simulation(**{**own, **arguments})


def normalize_delay(text: str) -> str:
    """Return the canonical name of the delay law named `text`.

    All laws with mean zero have the canonical name "constant:0". A law that cannot be created from
    its attribute `name`, such as an imported law, has the canonical name `text`.

    >>> normalize_delay("geometric:0"), normalize_delay("geometric:100.0")
    ('constant:0', 'geometric:100')
    """
    law = parse_delay(text)
    if law.mean == 0:
        return "constant:0"
    try:
        return law.name if parse_delay(law.name) == law else text
    except ValueError:
        return text
