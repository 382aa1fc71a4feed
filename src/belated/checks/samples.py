"""Small problems to try a part on: shapes, worlds, and what was observed in them."""

from typing import Final, NamedTuple

import numpy as np

from belated.episode import Episode, Floats, Ints, Shape
from belated.mdp.model import MDP

EPISODES: Final = 500
"""K in every problem."""

SHAPES: Final = (Shape(2, 2, 1), Shape(3, 2, 3), Shape(4, 3, 4))


class Case(NamedTuple):
    """What was observed of a problem, as episodes and as dense counts."""

    shape: Shape
    rewards: Floats  # (H, S, A)
    episodes: list[Episode]
    n: Ints  # (H, S, A)
    m: Ints  # (H, S, A, S)


def observed(shape: Shape, seed: int, *, episodes: int) -> Case:
    """Episodes in which every state and action is equally likely."""
    random = np.random.default_rng(seed)
    H, S, A = shape.table
    seen = [
        Episode(i, random.integers(0, S, H + 1), random.integers(0, A, H))
        for i in range(1, episodes + 1)
    ]
    m = np.zeros((H, S, A, S), np.int64)
    for episode in seen:
        np.add.at(m, (np.arange(H), episode.states[:-1], episode.actions, episode.states[1:]), 1)
    return Case(shape, random.random(shape.table), seen, m.sum(axis=3), m)


def cases(shape: Shape) -> list[Case]:
    """Nothing observed, a little, and a lot."""
    return [observed(shape, seed, episodes=count) for seed, count in enumerate((0, 3, 300))]


def world(shape: Shape, seed: int) -> MDP:
    """A random world in which some of the successors are impossible."""
    random = np.random.default_rng(seed)
    H, S, A = shape.table
    p = random.dirichlet(np.full(S, 0.7), (H, S, A))
    keep = random.random(p.shape) < 0.7
    keep[..., random.integers(S)] = True
    p = np.where(keep, np.maximum(p, 1e-3), 0.0)
    p /= p.sum(axis=3, keepdims=True)
    return MDP.dense(p, random.random((H, S, A)), start=random.dirichlet(np.ones(S)))
