"""The ids under which `gymnasium.make` finds belated's worlds, and how each is made."""

from typing import Any, Final

import gymnasium

from belated.gym.environment import WorldEnv
from belated.mdp.chain import chain
from belated.mdp.deep_sea import deep_sea
from belated.mdp.garnet import garnet
from belated.mdp.gridworld import gridworld
from belated.mdp.riverswim import riverswim

WORLDS: Final = {
    "belated/Chain-v0": "chain_env",
    "belated/RiverSwim-v0": "riverswim_env",
    "belated/DeepSea-v0": "deep_sea_env",
    "belated/Garnet-v0": "garnet_env",
    "belated/GridWorld-v0": "gridworld_env",
}
"""Ids, and the functions below; what is not named there is passed on to the world's function."""


def register() -> None:
    """Register every world; once is enough, twice does no harm."""
    for id, function in WORLDS.items():
        if id not in gymnasium.registry:
            gymnasium.register(id, entry_point=f"{__name__}:{function}")


def chain_env(states: int = 30, **options: Any) -> WorldEnv:
    """`bl.chain`."""
    return WorldEnv(chain(states, **options))


def riverswim_env(states: int = 6, **options: Any) -> WorldEnv:
    """`bl.riverswim`."""
    return WorldEnv(riverswim(states, **options))


def deep_sea_env(size: int = 10, **options: Any) -> WorldEnv:
    """`bl.deep_sea`."""
    return WorldEnv(deep_sea(size, **options))


def garnet_env(
    states: int = 20,
    actions: int = 3,
    *,
    horizon: int = 10,
    branching: int = 4,
    **options: Any,
) -> WorldEnv:
    """`bl.garnet`."""
    world = garnet(states, actions, horizon=horizon, branching=branching, **options)
    return WorldEnv(world)


def gridworld_env(
    rows: int = 5,
    columns: int = 5,
    *,
    horizon: int = 20,
    **options: Any,
) -> WorldEnv:
    """`bl.gridworld`."""
    return WorldEnv(gridworld(rows, columns, horizon=horizon, **options))
