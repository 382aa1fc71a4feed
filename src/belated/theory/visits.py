"""What a run's own paths add up to: the left-hand sides of Lemma 3."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.compiled import compiled
from belated.episode import Floats, Ints, Shape
from belated.theory.missing import first_uses


class VisitSums(NamedTuple):
    """Sums over all episodes and steps."""

    root: float
    """of (1 v N')^(-1/2)"""
    inverse: float
    """of (1 v N')^-1"""


def visit_sums(
    shape: Shape, *, states: ArrayLike, actions: ArrayLike, delays: Sequence[int] | Ints
) -> VisitSums:
    """What Lemma 3 bounds, for K episodes that were played and came back so late.

    `states` is (K, H) or (K, H + 1), `actions` (K, H), and `delays` are tau_1, ..., tau_K. N' is
    that of the triple played, at the start of the episode. O(K H).

    >>> one = Shape(states=1, actions=1, horizon=1)
    >>> visit_sums(one, states=[[0]] * 4, actions=[[0]] * 4, delays=[0, 0, 0, 0]).inverse
    2.833...
    >>> visit_sums(one, states=[[0]] * 4, actions=[[0]] * 4, delays=[3, 3, 3, 3]).inverse
    4.0
    """
    late = first_uses(delays)
    K, H = late.size, shape.horizon
    s = _path("states", states, K, (H, H + 1), shape.states)[:, :H]
    a = _path("actions", actions, K, (H,), shape.actions)
    stages = np.arange(H) * shape.states
    triples = (s + stages) * shape.actions + a
    arrivals = np.argsort(late, kind="stable")
    return VisitSums(*_sums(triples, late, arrivals, H * shape.states * shape.actions).tolist())


def _path(name: str, values: ArrayLike, K: int, lengths: tuple[int, ...], limit: int) -> Ints:
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must hold integers.")
    if array.ndim != 2 or array.shape[0] != K or array.shape[1] not in lengths:
        raise ValueError(
            f"{name} has shape {array.shape}; {K} delays ask for ({K}, {lengths[-1]})."
        )
    if array.size and not 0 <= array.min() <= array.max() < limit:
        raise ValueError(
            f"{name} holds {array.min()} .. {array.max()}; allowed are 0 .. {limit - 1}."
        )
    return array.astype(np.int64)


@compiled
def _sums(triples: Ints, late: Ints, arrivals: Ints, size: int) -> Floats:
    n = np.zeros(size, np.int64)
    sums = np.zeros(2)
    next_one = 0
    for k in range(1, triples.shape[0] + 1):
        while next_one < arrivals.size and late[arrivals[next_one]] <= k:
            for triple in triples[arrivals[next_one]]:
                n[triple] += 1
            next_one += 1
        for triple in triples[k - 1]:
            seen = max(1, n[triple])
            sums[0] += 1.0 / np.sqrt(seen)
            sums[1] += 1.0 / seen
    return sums
