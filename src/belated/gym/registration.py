"""Registration of belated's worlds as Gymnasium environments."""

from typing import Any, Final

import gymnasium

from belated.gym.environment import WorldEnv
from belated.mdp.chain import chain
from belated.mdp.deep_sea import deep_sea
from belated.mdp.garnet import garnet
from belated.mdp.gridworld import gridworld
from belated.mdp.riverswim import riverswim

ENTRY_POINTS: Final = {
    "belated/Chain-v0": "chain_env",
    "belated/RiverSwim-v0": "riverswim_env",
    "belated/DeepSea-v0": "deep_sea_env",
    "belated/Garnet-v0": "garnet_env",
    "belated/GridWorld-v0": "gridworld_env",
}
"""Map from the id of each environment to the name of the function of this module that creates it.
"""


def register() -> None:
    """Register the environments in `ENTRY_POINTS` that are not registered yet."""
    for id, function in ENTRY_POINTS.items():
        if id not in gymnasium.registry:
            gymnasium.register(id, entry_point=f"{__name__}:{function}")


def chain_env(states: int = 30, **options: Any) -> WorldEnv:
    """Return the environment of the world `bl.chain(states, **options)`."""
    return WorldEnv(chain(states, **options))


def riverswim_env(states: int = 6, **options: Any) -> WorldEnv:
    """Return the environment of the world `bl.riverswim(states, **options)`."""
    return WorldEnv(riverswim(states, **options))


def deep_sea_env(size: int = 10, **options: Any) -> WorldEnv:
    """Return the environment of the world `bl.deep_sea(size, **options)`."""
    return WorldEnv(deep_sea(size, **options))


def garnet_env(
    states: int = 20, actions: int = 3, *, horizon: int = 10, branching: int = 4, **options: Any
) -> WorldEnv:
    """Return the environment of the world that `bl.garnet` returns for the same arguments."""
    return WorldEnv(garnet(states, actions, horizon=horizon, branching=branching, **options))


def gridworld_env(
    rows: int = 5, columns: int = 5, *, horizon: int = 20, **options: Any
) -> WorldEnv:
    """Return the environment of the world that `bl.gridworld` returns for the same arguments."""
    return WorldEnv(gridworld(rows, columns, horizon=horizon, **options))
