"""Deep sea (Osband et al. 2019, section 4), as in bsuite (Osband et al. 2020)."""

from dataclasses import replace
from typing import Final

import numpy as np

from belated.check import check_integer
from belated.episode import Shape
from belated.mdp.model import MDP, Draws
from belated.reward_map import Affine

LEFT: Final = 0
RIGHT: Final = 1

TOTAL_MOVE_COST: Final = 0.01
"""Total cost of an episode in which every step moves right, in original units of reward."""


def deep_sea(size: int, *, noisy: bool = False) -> MDP:
    """Return the deep sea of `size` columns, in which one path leads to the treasure.

    A diver descends one row per step through a grid of size x size cells and moves left (0) or
    right (1). Moving right in the last column pays the treasure, a reward of 1. The diver reaches
    that column in time only by moving right at every step. Each move to the right costs
    c = 0.01 / size.

    The step of the episode gives the row, so a state is a column: there are `size` states instead
    of the size * size states of the original, and transitions are the same in every row. For a
    learner with counts for each step, this is the original problem; with pooled counts the problem
    is easier.

    Rewards are mapped to [0, 1] by r -> (r + c) / (1 + c) at every step. `left` then pays
    c / (1 + c), `right` pays 0 and the treasure pays 1 / (1 + c). A sum G of the original rewards
    of an episode becomes (G + 0.01) / (1 + c), and V*_1(s_1) = 1 / (1 + c).

    There are two deviations from bsuite. Action 1 is `right` in every cell, whereas bsuite may
    swap the two actions. Rewards have no normal noise, which bsuite adds at both ends of the last
    row, because noisy rewards could lie outside [0, 1].

    Parameters
    ----------
    size : int
        Number of columns and of steps, at least 2.
    noisy : bool
        If True, `right` stays in the same column with probability 1 / size, and each reward is
        drawn as 0 or 1 with the mean given above. Then V*_1(s_1) =
        (p^(size - 1) + 0.01 p^size) / (1 + c) with p = 1 - 1 / size.

    Returns
    -------
    MDP
        World with `size` states, 2 actions and horizon `size`.

    Examples
    --------
    >>> deep_sea(10)
    MDP(states=10, actions=2, horizon=10, homogeneous, 20 successors)
    """
    check_integer("size", size, 2)
    slip = 1 / size if noisy else 0.0
    last = size - 1
    entries = [(s, LEFT, max(s - 1, 0), 1.0) for s in range(size)]
    for s in range(last):
        entries += [(s, RIGHT, s + 1, 1 - slip), (s, RIGHT, s, slip)]
    entries.append((last, RIGHT, last, 1.0))
    cost = TOTAL_MOVE_COST / size
    rewards = np.zeros((size, 2))
    rewards[:, LEFT] = cost / (1 + cost)
    rewards[last, RIGHT] = 1 / (1 + cost)
    draws: Draws = "bernoulli" if noisy else "deterministic"
    world = MDP.sparse(Shape(size, 2, size), entries, rewards, reward_draws=draws)
    return replace(world, reward_map=Affine(1 + cost, -cost))
