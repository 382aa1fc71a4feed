"""RiverSwim (Strehl and Littman 2008), with the parameters of Osband, Russo and Van Roy (2013)."""

from typing import Final

import numpy as np

from belated.check import check_integer
from belated.episode import Shape
from belated.mdp.model import MDP

LEFT: Final = 0
RIGHT: Final = 1


def riverswim(states: int = 6, *, horizon: int = 20) -> MDP:
    """Return the RiverSwim world, in which the large reward is at the upstream end of a river.

    Action `left` (0) always moves one state back. Action `right` (1) moves one state forward with
    probability 0.35, stays with probability 0.6 and moves one state back with probability 0.05.
    In the first state, `right` moves forward with probability 0.6 and stays with probability 0.4.
    In the last state, `right` stays with probability 0.6 and moves back with probability 0.4.

    `left` in the first state pays 5/1000, `right` in the last state pays 1, and every other
    (state, action) pays 0. An episode starts in the first state. In Strehl and Littman, the
    rewards are 5 and 10000 and the current is stronger.

    Parameters
    ----------
    states : int
        Number of states, at least 2.
    horizon : int
        Number of steps of an episode, at least 1.

    Returns
    -------
    MDP
        World with `states` states and 2 actions.

    Examples
    --------
    >>> riverswim()
    MDP(states=6, actions=2, horizon=20, homogeneous, 22 successors)
    """
    check_integer("states", states, 2)
    last = states - 1
    entries = [(0, RIGHT, 0, 0.4), (0, RIGHT, 1, 0.6)]
    entries += [(last, RIGHT, last, 0.6), (last, RIGHT, last - 1, 0.4)]
    entries += [(s, LEFT, max(s - 1, 0), 1.0) for s in range(states)]
    for s in range(1, last):
        entries += [(s, RIGHT, s + 1, 0.35), (s, RIGHT, s, 0.6), (s, RIGHT, s - 1, 0.05)]
    rewards = np.zeros((states, 2))
    rewards[0, LEFT] = 5 / 1000
    rewards[last, RIGHT] = 1.0
    return MDP.sparse(Shape(states, 2, horizon), entries, rewards)
