"""Random worlds with few successors."""

import numpy as np

import belated as bl


def scattered(S: int, A: int, H: int, *, successors: int, paying: float, seed: int = 0) -> bl.MDP:
    """A homogeneous world in which each (s, a) leads to so many states, drawn at random.

    A share `paying` of the states pays 1 for any action. The first state is uniform.
    """
    rng = np.random.default_rng(seed)
    rows = S * A
    y = np.concatenate([rng.choice(S, successors, replace=False) for _ in range(rows)])
    p = rng.dirichlet(np.ones(successors), rows).ravel()
    row = np.repeat(np.arange(rows), successors)
    rewards = np.zeros((S, A))
    rewards[rng.choice(S, max(1, round(paying * S)), replace=False)] = 1.0
    shape = bl.Shape(S, A, H)
    return bl.MDP.sparse(shape, (row // A, row % A, y, p), rewards, start=np.full(S, 1 / S))
