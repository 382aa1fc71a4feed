"""N' and M': sparse, growable counts of what has been observed.

A row is one (stage, state, action): row = (stage * S + state) * A + action. Its observed
successors sit side by side in a shared pool, in the order of their index, so that no sum over
them depends on who came first. A block holds a power of two of them and moves when it is full.
With pooled counts there is one stage, and every step of an episode counts into it.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Ints, Shape

Number = TypeVar("Number", bound=np.generic)


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
    used: NDArray[np.int64]  # (3) of the pool, of the links, and the most successors of a row


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
        used=np.zeros(3, np.int64),
    )


@inlined
def has_room(counts: Counts, steps: int) -> bool:
    """Whether so many transitions can be added, whatever they are."""
    dearest = 2 * (counts.used[2] + steps)
    return (
        counts.used[0] + steps * dearest <= counts.succ.size
        and counts.used[1] + steps <= counts.link_row.size
    )


@inlined
def add(counts: Counts, row: int, stage: int, state: int, successor: int, times: int) -> None:
    """Count `times` transitions; there must be room for one, see `has_room`."""
    at = counts.start[row]
    end = at + counts.size[row]
    while at < end and counts.succ[at] < successor:
        at += 1
    if at == end or counts.succ[at] != successor:
        at = insert(counts, row, stage, successor, at)
    counts.m[at] += times
    counts.n[row] += times
    counts.visits[stage, state] += times


@kernel
def insert(counts: Counts, row: int, stage: int, successor: int, at: int) -> int:
    """Open a place for a new successor at `at`; returns where that is now."""
    size = np.int64(counts.size[row])
    first = counts.start[row]
    if size & (size - 1) == 0:  # empty, or a block that is full
        fresh = counts.used[0]
        counts.used[0] += max(1, 2 * size)
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
    counts.used[2] = max(counts.used[2], size + 1)
    return at


@kernel
def add_steps(counts: Counts, rows: Ints, states: Ints, successors: Ints, first: int) -> int:
    """Count transitions from `first` on, as long as there is room; returns where it ended."""
    stage_rows = counts.n.size // counts.visits.shape[0]
    for i in range(first, rows.size):
        if not has_room(counts, 1):
            return i
        add(counts, rows[i], rows[i] // stage_rows, states[i], successors[i], 1)
    return rows.size


def added(counts: Counts, rows: Ints, states: Ints, successors: Ints) -> Counts:
    """The same counts with these transitions, and with more room if they need it."""
    done = add_steps(counts, rows, states, successors, 0)
    while done < rows.size:
        counts = roomy(counts, 1)
        done = add_steps(counts, rows, states, successors, done)
    return counts


def roomy(counts: Counts, steps: int) -> Counts:
    """The same counts with room for so many transitions more, and for as many again as it has."""
    while not has_room(counts, steps):
        counts = counts._replace(
            succ=_doubled(counts.succ),
            m=_doubled(counts.m),
            link_row=_doubled(counts.link_row),
            link_next=_doubled(counts.link_next),
        )
    return counts


def _doubled(array: NDArray[Number]) -> NDArray[Number]:
    return np.concatenate((array, np.zeros_like(array)))


def from_dense(shape: Shape, transitions: Ints) -> Counts:
    """Counts of a dense M', (H, S, A, S), or (S, A, S) for pooled ones."""
    S, A = shape.states, shape.actions
    counts = empty(shape, 1 if transitions.ndim == 3 else shape.horizon)
    table = transitions.reshape(-1, S)
    for row, y in np.argwhere(table > 0):
        stage, state = divmod(int(row) // A, S)
        counts = roomy(counts, 1)
        add(counts, int(row), stage, state, int(y), int(table[row, y]))
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
