"""Deep sea (Osband et al. 2019, section 4), as in bsuite (Osband et al. 2020)."""

from dataclasses import replace
from typing import Final

import numpy as np

from belated.episode import Shape, check_integer
from belated.mdp.model import MDP, Draws
from belated.mdp.rewards import Affine

LEFT: Final = 0
RIGHT: Final = 1

MOVE_COST: Final = 0.01
"""What going right all the way down costs."""


def deep_sea(size: int, *, noisy: bool = False) -> MDP:
    """A diver sinks one row a step through size x size cells, and steers left or right.

    The treasure, worth 1, goes to `right` in the last column, which only a diver who has gone
    right at every step reaches before the bottom. Each `right` costs c = 0.01 / size.

    The row of the original is the step here, so a state is a column: `size` states and not
    size * size, with the same transitions in every row. A learner that counts each step apart
    meets the original; one that pools its counts over steps has an easier time.

    Rewards are mapped to [0, 1] by r -> (r + c) / (1 + c), the same at every step: `left` pays
    c / (1 + c), `right` nothing, the treasure 1 / (1 + c). A return G becomes
    (G + 0.01) / (1 + c), and V*_1(s_1) = 1 / (1 + c).

    `noisy`: `right` holds its column with probability 1 / size, and rewards are coins with
    these means. Then V*_1(s_1) = (p^(size - 1) + 0.01 p^size) / (1 + c) with p = 1 - 1 / size.

    Deviations from bsuite: action 1 is `right` in every cell, where bsuite may swap the two; and
    its noise is normal, at the two ends of the last row, which would leave [0, 1].

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
    cost = MOVE_COST / size
    rewards = np.zeros((size, 2))
    rewards[:, LEFT] = cost / (1 + cost)
    rewards[last, RIGHT] = 1 / (1 + cost)
    draws: Draws = "bernoulli" if noisy else "deterministic"
    world = MDP.sparse(Shape(size, 2, size), entries, rewards, reward_draws=draws)
    return replace(world, reward_map=Affine(1 + cost, -cost))
