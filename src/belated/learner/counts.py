"""N' and M': sparse, growable counts of what has been observed.

A row is one (stage, state, action): row = (stage * S + state) * A + action. Its observed
successors sit side by side in a shared pool, in the order of their index, so that no sum over
them depends on who came first. A block holds a power of two of them and moves when it is full.
With pooled counts there is one stage, and every step of an episode counts into it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import compiled
from belated.episode import Ints, Shape


class Counts(NamedTuple):
    """Plain arrays, so that compiled code, snapshots and later a GPU can all use them."""

    n: NDArray[np.int64]  # (rows) N'(h, s, a)
    visits: NDArray[np.int64]  # (stages, S) N'(h, s)
    start: NDArray[np.int64]  # (rows) where the row's block begins in the pool
    size: NDArray[np.int32]  # (rows) how many successors it holds
    succ: NDArray[np.int32]  # (pool) successor states
    m: NDArray[np.int64]  # (pool) M'(h, s, a, succ)
    head: NDArray[np.int32]  # (stages, S) the newest link to a row with this successor, or -1
    link_row: NDArray[np.int32]  # (links) the row
    link_next: NDArray[np.int32]  # (links) the link before it, or -1
    used: NDArray[np.int64]  # (2) how much of the pool and of the links is taken


def empty(shape: Shape, stages: int) -> Counts:
    """Counts of nothing; `stages` is H, or 1 for pooled counts."""
    S, rows = shape.states, stages * shape.states * shape.actions
    room = 256
    return Counts(
        n=np.zeros(rows, np.int64),
        visits=np.zeros((stages, S), np.int64),
        start=np.zeros(rows, np.int64),
        size=np.zeros(rows, np.int32),
        succ=np.zeros(room, np.int32),
        m=np.zeros(room, np.int64),
        head=np.full((stages, S), -1, np.int32),
        link_row=np.zeros(room, np.int32),
        link_next=np.zeros(room, np.int32),
        used=np.zeros(2, np.int64),
    )


@compiled
def add(counts: Counts, row: int, stage: int, state: int, successor: int, times: int) -> bool:
    """Count `times` transitions; False, and nothing done, when there is no room: see `grown`."""
    size = np.int64(counts.size[row])
    first = counts.start[row]
    at = first
    while at < first + size and counts.succ[at] < successor:
        at += 1
    if at == first + size or counts.succ[at] != successor:
        if counts.used[1] == counts.link_row.size:
            return False
        if size & (size - 1) == 0:  # empty, or a block that is full
            room = max(1, 2 * size)
            if counts.used[0] + room > counts.succ.size:
                return False
            fresh = counts.used[0]
            counts.used[0] += room
            for j in range(size):
                counts.succ[fresh + j] = counts.succ[first + j]
                counts.m[fresh + j] = counts.m[first + j]
            at += fresh - first
            first = fresh
            counts.start[row] = first
        for j in range(first + size, at, -1):
            counts.succ[j] = counts.succ[j - 1]
            counts.m[j] = counts.m[j - 1]
        counts.succ[at] = successor
        counts.m[at] = 0
        counts.size[row] = size + 1
        link = counts.used[1]
        counts.link_row[link] = row
        counts.link_next[link] = counts.head[stage, successor]
        counts.head[stage, successor] = link
        counts.used[1] += 1
    counts.m[at] += times
    counts.n[row] += times
    counts.visits[stage, state] += times
    return True


@compiled
def grown(counts: Counts) -> Counts:
    """The same counts with twice the room; shares the arrays that do not grow."""
    room = 2 * counts.succ.size
    succ = np.zeros(room, np.int32)
    m = np.zeros(room, np.int64)
    succ[: counts.succ.size] = counts.succ
    m[: counts.m.size] = counts.m
    links = 2 * counts.link_row.size
    link_row = np.zeros(links, np.int32)
    link_next = np.zeros(links, np.int32)
    link_row[: counts.link_row.size] = counts.link_row
    link_next[: counts.link_next.size] = counts.link_next
    return Counts(
        counts.n,
        counts.visits,
        counts.start,
        counts.size,
        succ,
        m,
        counts.head,
        link_row,
        link_next,
        counts.used,
    )


@compiled
def add_episode(counts: Counts, states: Ints, actions: Ints, touched: NDArray[np.int64]) -> Counts:
    """Count one episode; `touched[h]` becomes the row of step h. Returns the (grown) counts."""
    stages, S = counts.visits.shape
    A = counts.n.size // (stages * S)
    for h in range(actions.size):
        stage = h if stages > 1 else 0
        row = (stage * S + states[h]) * A + actions[h]
        while not add(counts, row, stage, states[h], states[h + 1], 1):
            counts = grown(counts)
        touched[h] = row
    return counts


def from_dense(shape: Shape, transitions: Ints) -> Counts:
    """Counts of a dense M', (H, S, A, S), or (S, A, S) for pooled ones."""
    S, A = shape.states, shape.actions
    stages = 1 if transitions.ndim == 3 else shape.horizon
    counts = empty(shape, stages)
    for row, y in np.argwhere(transitions.reshape(-1, S) > 0):
        stage, state = divmod(int(row) // A, S)
        times = int(transitions.reshape(-1, S)[row, y])
        while not add(counts, int(row), stage, state, int(y), times):
            counts = grown(counts)
    return counts


def to_dense(shape: Shape, counts: Counts) -> tuple[Ints, Ints]:
    """(N', M') as (stages, S, A) and (stages, S, A, S); pooled counts are one stage."""
    stages, S = counts.visits.shape
    A = shape.actions
    m = np.zeros((counts.n.size, S), np.int64)
    for row in np.flatnonzero(counts.size):
        block = slice(counts.start[row], counts.start[row] + counts.size[row])
        m[row, counts.succ[block]] = counts.m[block]
    return counts.n.reshape(stages, S, A).copy(), m.reshape(stages, S, A, S)
