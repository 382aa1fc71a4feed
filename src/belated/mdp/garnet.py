"""Garnet: random sparse worlds (Archibald, McKinnon and Thomas 1995; Bhatnagar et al. 2009)."""

from typing import Any, Final

import numpy as np

from belated.episode import Shape, check_integer
from belated.mdp.model import MDP
from belated.randomness import check_seed, uniform

# Streams of a world's making, away from those of its episodes.
SUCCESSORS: Final = 16
CUTS: Final = 17
REWARDS: Final = 18


def garnet(states: int, actions: int, *, horizon: int, branching: int, seed: int = 0) -> MDP:
    """A random world in which `branching` states may follow each (state, action).

    They are drawn without replacement, and their probabilities are the lengths into which
    branching - 1 uniform points cut [0, 1]. Mean rewards are uniform in [0, 1] (Bhatnagar et al.
    draw normal ones). An episode begins in state 0, which is as good as any other. Everything
    is a pure function of the arguments.

    >>> garnet(20, 3, horizon=10, branching=4)
    MDP(states=20, actions=3, horizon=10, homogeneous, 240 successors)
    """
    shape = Shape(states, actions, horizon)
    check_integer("branching", branching, 1)
    if branching > states:
        raise ValueError(f"branching is {branching}; it must be at most the {states} states.")
    key: Any = np.uint64(check_seed(seed))
    entries = []
    rewards = np.zeros((states, actions))
    for row in range(states * actions):
        s, a = divmod(row, actions)
        cuts = sorted(uniform(key, CUTS, row, j) for j in range(branching - 1))
        lengths = np.diff([0.0, *cuts, 1.0])
        followers = drawn(key, row, states=states, branching=branching)
        entries += [(s, a, y, p) for y, p in zip(followers, lengths, strict=True)]
        rewards[s, a] = uniform(key, REWARDS, row, 0)
    return MDP.sparse(shape, entries, rewards)


def drawn(key: Any, row: int, *, states: int, branching: int) -> list[int]:
    """`branching` of the states, every choice of them equally likely (Floyd's algorithm)."""
    chosen: set[int] = set()
    for j in range(states - branching, states):
        one = int(uniform(key, SUCCESSORS, row, j) * (j + 1))
        chosen.add(j if one in chosen else one)
    return sorted(chosen)
