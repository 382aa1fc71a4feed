"""Garnet: random sparse worlds (Archibald, McKinnon and Thomas 1995; Bhatnagar et al. 2009)."""

from typing import Any, Final

import numpy as np

from belated.check import check_integer
from belated.episode import Shape
from belated.mdp.model import MDP
from belated.randomness import check_seed, uniform

# Random streams that build a world, distinct from the streams of its episodes.
SUCCESSOR_STREAM: Final = 16
PROBABILITY_STREAM: Final = 17
REWARD_STREAM: Final = 18


def garnet(states: int, actions: int, *, horizon: int, branching: int, seed: int = 0) -> MDP:
    """Return a random world in which each (state, action) has `branching` successors.

    Successors are drawn without replacement. Their probabilities are the lengths of the
    intervals into which branching - 1 uniform points divide [0, 1]. Mean rewards are drawn
    uniformly from [0, 1], whereas Bhatnagar et al. draw them from a normal distribution. An
    episode starts in state 0. Equal arguments give the same world.

    Parameters
    ----------
    states : int
        Number of states, at least 1.
    actions : int
        Number of actions, at least 1.
    horizon : int
        Number of steps of an episode, at least 1.
    branching : int
        Number of successors of each (state, action), in 1 .. `states`.
    seed : int
        Seed of the random numbers, in 0 .. 2**64 - 1.

    Returns
    -------
    MDP
        World with `states` states and `actions` actions.

    Examples
    --------
    >>> garnet(20, 3, horizon=10, branching=4)
    MDP(states=20, actions=3, horizon=10, homogeneous, 240 successors)
    """
    shape = Shape(states, actions, horizon)
    check_integer("branching", branching, 1)
    if branching > states:
        raise ValueError(
            f"branching must be at most the number of states, {states}, got {branching}."
        )
    key: Any = np.uint64(check_seed(seed))
    entries = []
    rewards = np.zeros((states, actions))
    for row in range(states * actions):
        s, a = divmod(row, actions)
        cuts = sorted(uniform(key, PROBABILITY_STREAM, row, j) for j in range(branching - 1))
        lengths = np.diff([0.0, *cuts, 1.0])
        successors = draw_successors(key, row, states=states, branching=branching)
        entries += [(s, a, y, p) for y, p in zip(successors, lengths, strict=True)]
        rewards[s, a] = uniform(key, REWARD_STREAM, row, 0)
    return MDP.sparse(shape, entries, rewards)


def draw_successors(key: Any, row: int, *, states: int, branching: int) -> list[int]:
    """Draw `branching` different states; all subsets of this size are equally likely.

    The subset is drawn by Floyd's algorithm.

    Parameters
    ----------
    key : np.uint64
        Seed of the world.
    row : int
        Index of the (state, action); part of the key of the random numbers.
    states : int
        Number of states.
    branching : int
        Size of the subset.

    Returns
    -------
    list[int]
        The chosen states in ascending order.
    """
    chosen: set[int] = set()
    for j in range(states - branching, states):
        state = int(uniform(key, SUCCESSOR_STREAM, row, j) * (j + 1))
        chosen.add(j if state in chosen else state)
    return sorted(chosen)
