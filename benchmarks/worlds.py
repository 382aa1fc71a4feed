"""Random worlds with few successors."""

import numpy as np

import belated as bl


def random_world(
    S: int,
    A: int,
    H: int,
    *,
    successors: int,
    paying: float,
    reach: int | None = None,
    seed: int = 0,
) -> bl.MDP:
    """A homogeneous world in which each (s, a) leads to so many states, drawn at random.

    They lie within `reach` of s, on a circle, or anywhere. A share `paying` of the states pays 1
    for any action. The first state is uniform.
    """
    rng = np.random.default_rng(seed)
    rows = S * A
    choices = S if reach is None else 2 * reach + 1
    offset = 0 if reach is None else -reach
    row = np.repeat(np.arange(rows), successors)
    y = np.concatenate([rng.choice(choices, successors, replace=False) for _ in range(rows)])
    y = (row // A + offset + y) % S
    p = rng.dirichlet(np.ones(successors), rows).ravel()
    rewards = np.zeros((S, A))
    rewards[rng.choice(S, max(1, round(paying * S)), replace=False)] = 1.0
    shape = bl.Shape(S, A, H)
    return bl.MDP.sparse(shape, (row // A, row % A, y, p), rewards, start=np.full(S, 1 / S))
