"""Compiled functions of the theory, kept in a separate module because numba is slow to import."""

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from belated.compiled import compiled, kernel
from belated.episode import Floats, Ints
from belated.theory.alpha import minimize_bound
from belated.theory.missing import first_uses

alpha_for = kernel(minimize_bound)
"""alpha_for(terms, mean_delay): compiled version of `belated.theory.alpha.minimize_bound`."""


def owners(delays: Sequence[int] | Ints) -> Ints:
    """Return the instance that plays each episode in multi-instance updating (BOLD).

    Each episode is played by the free instance with the lowest number, or by a new instance if none
    is free. An instance is free if the feedback of all its episodes is usable (Joulani, György,
    Szepesvári 2013).

    Parameters
    ----------
    delays : sequence of int
        Delays tau_1, ..., tau_K in episodes, each at least 0.

    Returns
    -------
    array of int64, shape (K,)
        Number of the instance that plays each of the episodes 1, ..., K; instances are numbered
        from 0.

    Examples
    --------
    >>> owners([2, 2, 2, 2, 2])
    array([0, 1, 2, 0, 1])
    """
    return _assign(first_uses(delays))


@compiled
def _assign(first_use: Ints) -> Ints:
    K = first_use.size
    owner = np.zeros(K, np.int64)
    # episodes first usable at k, as a linked list: latest[k], then before[.], until -1
    latest = np.full(K + 2, -1, np.int64)
    before = np.full(K, -1, np.int64)
    free = [0 for _ in range(0)]  # empty list of integers, typed for the compiler
    created = 0
    for i in range(K):
        # free the instances whose feedback becomes usable at this episode
        arrived = latest[i + 1]
        while arrived >= 0:
            heappush(free, owner[arrived])
            arrived = before[arrived]
        # assign the lowest free instance, or create one
        if len(free) > 0:
            owner[i] = heappop(free)
        else:
            owner[i] = created
            created += 1
        before[i] = latest[first_use[i]]
        latest[first_use[i]] = i
    return owner


@compiled
def sum_visits(triples: Ints, first_use: Ints, arrivals: Ints, size: int) -> Floats:
    """Return the sums of max(1, N')^(-1/2) and max(1, N')^-1 over all episodes and steps.

    N' is the number of observed visits, at the start of the episode, of the triple (h, s, a) that
    is visited at the step. A visit is observed if the feedback of its episode is usable.

    Parameters
    ----------
    triples : array of int64, shape (K, H)
        Index of the triple visited in each episode at each step.
    first_use : array of int64, shape (K,)
        Episode, numbered from 1, at which the feedback of each episode is first usable.
    arrivals : array of int64, shape (K,)
        Indices of the episodes, from 0, sorted by `first_use`.
    size : int
        Number of triples.

    Returns
    -------
    array of float64, shape (2,)
        The two sums.
    """
    n = np.zeros(size, np.int64)
    sums = np.zeros(2)
    arrived = 0
    for k in range(1, triples.shape[0] + 1):
        while arrived < arrivals.size and first_use[arrivals[arrived]] <= k:
            for triple in triples[arrivals[arrived]]:
                n[triple] += 1
            arrived += 1
        for triple in triples[k - 1]:
            visits = max(1, n[triple])
            sums[0] += 1.0 / np.sqrt(visits)
            sums[1] += 1.0 / visits
    return sums
