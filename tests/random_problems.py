"""Small random worlds, counts and episodes."""

from typing import Any

import numpy as np

import belated as bl


def random_shape(rng: np.random.Generator, *, least: int = 2, most: int = 4) -> bl.Shape:
    """S, A and H between `least` and `most`."""
    S, A, H = (int(x) for x in rng.integers(least, most + 1, 3))
    return bl.Shape(S, A, H)


def random_world(rng: np.random.Generator, shape: bl.Shape | None = None) -> bl.MDP:
    """Dirichlet rows, uniform rewards and a Dirichlet start."""
    H, S, A = (shape or random_shape(rng)).table
    return bl.MDP.dense(
        rng.dirichlet(np.ones(S), (H, S, A)), rng.random((H, S, A)), start=rng.dirichlet(np.ones(S))
    )


def puzzling_world(rng: np.random.Generator, shape: bl.Shape | None = None) -> bl.MDP:
    """A random world in which most is earned at the end, so that the way there must be learnt."""
    H, S, A = (shape or random_shape(rng)).table
    rewards = rng.random((H, S, A))
    rewards[:-1] *= 0.1
    return bl.MDP.dense(rng.dirichlet(np.full(S, 0.3), (H, S, A)), rewards)


def random_counts(rng: np.random.Generator, shape: bl.Shape, *, most: int = 60) -> tuple[Any, Any]:
    """N' and M', with unseen rows, rows seen once and successors never seen among them."""
    H, S, A = shape.table
    n = rng.integers(0, 1 + rng.choice([1, 2, most], (H, S, A)))
    m = rng.multinomial(n, rng.dirichlet(np.full(S, 0.5), (H, S, A)))
    return n, m


def random_episodes(
    rng: np.random.Generator, shape: bl.Shape, count: int, *, first: int = 1
) -> list[bl.Episode]:
    """Episodes with the ids first, first + 1, ..., every state and action equally likely."""
    H, S, A = shape.table
    return [
        bl.Episode(first + i, rng.integers(0, S, H + 1), rng.integers(0, A, H))
        for i in range(count)
    ]


def dense_counts(shape: bl.Shape, episodes: list[bl.Episode]) -> tuple[Any, Any]:
    """N' and M' of these episodes, counted one step after another."""
    H, S, A = shape.table
    m = np.zeros((H, S, A, S), np.int64)
    for episode in episodes:
        for h in range(H):
            m[h, episode.states[h], episode.actions[h], episode.states[h + 1]] += 1
    return m.sum(axis=-1), m
