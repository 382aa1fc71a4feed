"""RiverSwim (Strehl and Littman 2008), in the numbers of Osband, Russo and Van Roy (2013)."""

from typing import Final

import numpy as np

from belated.episode import Shape, check_integer
from belated.mdp.model import MDP

LEFT: Final = 0
RIGHT: Final = 1


def riverswim(states: int = 6, *, horizon: int = 20) -> MDP:
    """States in a row along a river: `left` swims with the current, `right` against it.

    `left` always goes back one state. `right` goes on with probability 0.35, holds with 0.6 and
    is carried back with 0.05; from the first state it goes on with 0.6 and holds with 0.4, in
    the last it holds with 0.6 and is carried back with 0.4. `left` in the first state pays 5/1000
    and `right` in the last pays 1, which needs no mapping to [0, 1]; nothing else pays. An
    episode begins in the first state. Strehl and Littman pay 5 and 10000, under a stronger
    current.

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
