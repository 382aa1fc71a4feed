"""Visited triples and arrivals of feedback in a run, for the evaluation of lemmas in this run."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Ints, Shape


def triples_of(shape: Shape, states: ArrayLike, actions: ArrayLike, episodes: int) -> Ints:
    """Return the index of the triple (h, s, a) visited at each step of each episode.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    states : array of int, shape (K, H) or (K, H + 1)
        States of each episode; the state after the last step is ignored.
    actions : array of int, shape (K, H)
        Actions of each episode.
    episodes : int
        Number of episodes K.

    Returns
    -------
    array of int64, shape (K, H)
        Indices in 0 .. HSA - 1.
    """
    H = shape.horizon
    s = _check_path("states", states, episodes, (H, H + 1), shape.states)[:, :H]
    a = _check_path("actions", actions, episodes, (H,), shape.actions)
    return (s + np.arange(H) * shape.states) * shape.actions + a


def arrivals_of(delays: Sequence[int] | Ints) -> list[Ints]:
    """Return the episodes whose feedback is first usable at the start of episode k, for each k.

    `delays` contains tau_1, ..., tau_K. The result has an array for each k = 1, ..., K, with the
    indices of the episodes, numbered from 0. Episodes whose feedback is not usable in any of the K
    episodes are in no array.
    """
    from belated.theory.missing import first_uses

    first_use = first_uses(delays)
    K = first_use.size
    order = np.argsort(first_use, kind="stable")
    return np.split(order, np.searchsorted(first_use[order], np.arange(2, K + 2)))[:K]


def _check_path(name: str, values: ArrayLike, K: int, lengths: tuple[int, ...], limit: int) -> Ints:
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must hold integers, got {array.dtype}.")
    if array.ndim != 2 or array.shape[0] != K or array.shape[1] not in lengths:
        raise ValueError(
            f"{name} must have shape ({K}, {lengths[-1]}) for {K} delays, got {array.shape}."
        )
    if array.size and not 0 <= array.min() <= array.max() < limit:
        raise ValueError(
            f"{name} must lie in 0 .. {limit - 1}, got {array.min()} .. {array.max()}."
        )
    return array.astype(np.int64)
