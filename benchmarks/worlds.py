"""Random worlds with few successors."""

import numpy as np

import belated as bl


def random_world(
    S: int,
    A: int,
    H: int,
    *,
    successors: int,
    rewarding: float,
    reach: int | None = None,
    seed: int = 0,
) -> bl.MDP:
    """Return a homogeneous world with random successors and a uniform first state.

    Parameters
    ----------
    S, A, H : int
        Number of states, actions and steps.
    successors : int
        Number of successors of each (s, a).
    rewarding : float
        Share of the states with reward 1 for any action; the others have reward 0.
    reach : int, optional
        Largest distance of a successor from its state, on a circle; by default any.
    seed : int
        Seed of the world.

    Returns
    -------
    bl.MDP
        The world.
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
    rewards[rng.choice(S, max(1, round(rewarding * S)), replace=False)] = 1.0
    shape = bl.Shape(S, A, H)
    return bl.MDP.sparse(shape, (row // A, row % A, y, p), rewards, start=np.full(S, 1 / S))
