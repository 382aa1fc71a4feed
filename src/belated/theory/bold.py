"""How many copies of a base BOLD runs (Joulani, György, Szepesvári 2013), and which plays when.

A copy is busy from the episode it plays until that episode's feedback is usable. It need not be
one of tau_max + 1 copies: 1 + max_k S_k are enough, and exactly that many are made.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from belated.compiled import compiled
from belated.episode import Ints
from belated.theory.missing import first_uses, missing


def instances(delays: Sequence[int] | Ints) -> int:
    """1 + max_k S_k, the number of instances made in K episodes with these delays.

    >>> instances([4, 0, 0, 0, 4, 0])
    2
    """
    return 1 + int(np.max(missing(delays), initial=-1))


def owners(delays: Sequence[int] | Ints) -> Ints:
    """The instance, counted from 0, that plays episode 1, ..., K: the lowest that is free.

    >>> owners([2, 2, 2, 2, 2])
    array([0, 1, 2, 0, 1])
    """
    return _assign(first_uses(delays))


@compiled
def _assign(first_use: Ints) -> Ints:
    K = first_use.size
    owner = np.zeros(K, np.int64)
    # the episodes first usable at k, as a linked list: latest[k], then before[.], until -1
    latest = np.full(K + 2, -1, np.int64)
    before = np.full(K, -1, np.int64)
    free = [0 for _ in range(0)]  # an empty list of integers, for the compiler
    made = 0
    for i in range(K):
        back = latest[i + 1]
        while back >= 0:
            heappush(free, owner[back])
            back = before[back]
        if len(free) > 0:
            owner[i] = heappop(free)
        else:
            owner[i] = made
            made += 1
        before[i] = latest[first_use[i]]
        latest[first_use[i]] = i
    return owner
