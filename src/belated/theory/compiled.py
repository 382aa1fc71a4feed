"""Compiled functions of the theory, kept in a separate module because numba is slow to import."""

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from belated.compiled import compiled, kernel
from belated.episode import Ints
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
