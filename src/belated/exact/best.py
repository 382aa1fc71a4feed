"""Which actions are optimal."""

import numpy as np

from belated.episode import Bools
from belated.exact.values import optimal_table
from belated.mdp.model import MDP

CLOSE = 1e-9
"""Values that differ by less are the same but for rounding."""


def optimal_actions(world: MDP) -> Bools:
    """Which actions are optimal, (H, S, A): several where they are equally good.

    >>> from belated.mdp.chain import chain
    >>> optimal_actions(chain(3))[:, 0].astype(int)  # right while there is time, then either
    array([[0, 1],
           [1, 1],
           [1, 1]])
    """
    H, S, A = world.shape.table
    v = optimal_table(world)
    best = np.zeros((H, S, A), np.bool_)
    for h in range(H):
        first = 0 if world.homogeneous else h * S * A
        ptr = world.ptr[first : first + S * A + 1]
        block = slice(ptr[0], ptr[-1])
        ahead = world.prob[block] * v[h + 1][world.succ[block]]
        q = np.add.reduceat(ahead, ptr[:-1] - ptr[0]).reshape(S, A)
        q += world.rewards[h % len(world.rewards)]
        best[h] = q >= q.max(axis=1, keepdims=True) - CLOSE
    return best
