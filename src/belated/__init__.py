"""belated: episodic reinforcement learning when feedback comes back late."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated import checks as checks
    from belated import delays as delays
    from belated import gym as gym
    from belated import theory as theory
    from belated.client import Client as Client
    from belated.episode import Episode as Episode
    from belated.episode import Policy as Policy
    from belated.episode import Shape as Shape
    from belated.episode import Step as Step
    from belated.exact.values import optimal_value as optimal_value
    from belated.exact.values import policy_value as policy_value
    from belated.gym.delayed import DelayedFeedback as DelayedFeedback
    from belated.learner.backup import backup as backup
    from belated.learner.bases import KL_UCRL as KL_UCRL
    from belated.learner.bases import PSRL as PSRL
    from belated.learner.bases import UBEV as UBEV
    from belated.learner.bases import UCBVI_BF as UCBVI_BF
    from belated.learner.bases import UCBVI_CH as UCBVI_CH
    from belated.learner.bases import UCRL2 as UCRL2
    from belated.learner.bases import UCRL2B as UCRL2B
    from belated.learner.bases import BackupRule as BackupRule
    from belated.learner.bases import Base as Base
    from belated.learner.bases import Chi2_UCRL as Chi2_UCRL
    from belated.learner.bases import QLearning as QLearning
    from belated.learner.learner import Learner as Learner
    from belated.learner.plan import plan as plan
    from belated.learner.updaters import Active as Active
    from belated.learner.updaters import ExplicitExploration as ExplicitExploration
    from belated.learner.updaters import Lazy as Lazy
    from belated.learner.updaters import MultiInstance as MultiInstance
    from belated.learner.updaters import Updater as Updater
    from belated.mdp.chain import chain as chain
    from belated.mdp.gymnasium import from_gymnasium as from_gymnasium
    from belated.mdp.icu_sepsis import icu_sepsis as icu_sepsis
    from belated.mdp.model import MDP as MDP
    from belated.mdp.worlds import world as world
    from belated.simulation.calibrate import calibrate as calibrate
    from belated.simulation.many import simulate_many as simulate_many
    from belated.simulation.simulate import simulate as simulate
    from belated.sweep.results import results as results

__version__ = "0.1.0"

_HOME = {
    "Client": "belated.client",
    "Episode": "belated.episode",
    "Policy": "belated.episode",
    "Shape": "belated.episode",
    "Step": "belated.episode",
    "optimal_value": "belated.exact.values",
    "policy_value": "belated.exact.values",
    "backup": "belated.learner.backup",
    "Base": "belated.learner.bases",
    "BackupRule": "belated.learner.bases",
    "UBEV": "belated.learner.bases",
    "UCBVI_CH": "belated.learner.bases",
    "UCBVI_BF": "belated.learner.bases",
    "UCRL2": "belated.learner.bases",
    "UCRL2B": "belated.learner.bases",
    "KL_UCRL": "belated.learner.bases",
    "Chi2_UCRL": "belated.learner.bases",
    "PSRL": "belated.learner.bases",
    "QLearning": "belated.learner.bases",
    "Learner": "belated.learner.learner",
    "plan": "belated.learner.plan",
    "Active": "belated.learner.updaters",
    "ExplicitExploration": "belated.learner.updaters",
    "Lazy": "belated.learner.updaters",
    "MultiInstance": "belated.learner.updaters",
    "Updater": "belated.learner.updaters",
    "chain": "belated.mdp.chain",
    "from_gymnasium": "belated.mdp.gymnasium",
    "icu_sepsis": "belated.mdp.icu_sepsis",
    "DelayedFeedback": "belated.gym.delayed",
    "MDP": "belated.mdp.model",
    "world": "belated.mdp.worlds",
    "calibrate": "belated.simulation.calibrate",
    "simulate": "belated.simulation.simulate",
    "results": "belated.sweep.results",
    "simulate_many": "belated.simulation.many",
}
_MODULES = ("checks", "delays", "gym", "theory")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `belated --help` is quick."""
    if name in _MODULES:
        return importlib.import_module(f"belated.{name}")
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'belated' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
