"""Counts N' and M' of observed visits and transitions: sparse and growable.

A row is one (stage, state, action): row = (stage * S + state) * A + action. Its observed
successors are adjacent in a shared pool, in increasing order, so that no sum over them depends on
the order of arrival. A block holds a power of two of them and moves when it is full. With pooled
counts there is one stage, which counts every step of an episode.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Ints, Shape

Number = TypeVar("Number", bound=np.generic)


class Counts(NamedTuple):
    """Sparse counts as plain arrays, shared by compiled code and snapshots."""

    n: NDArray[np.int64]  # (rows) N'(h, s, a)
    visits: NDArray[np.int64]  # (stages, S) N'(h, s)
    start: NDArray[np.int64]  # (rows) start of the row's block in the pool
    size: NDArray[np.int32]  # (rows) number of successors observed
    succ: NDArray[np.int32]  # (pool) successor states
    m: NDArray[np.int64]  # (pool) M'(h, s, a, succ)
    head: NDArray[np.int32]  # (stages, S) last link to a row with this successor, or -1
    link_row: NDArray[np.int32]  # (links) row
    link_next: NDArray[np.int32]  # (links) previous link, or -1
    used: NDArray[np.int64]  # (3) pool used, links used, largest number of successors of a row


def empty_counts(shape: Shape, stages: int) -> Counts:
    """Return zero counts for a problem of size `shape`; `stages` is H, or 1 for pooled counts."""
    S, rows = shape.states, stages * shape.states * shape.actions
    capacity = 256
    return Counts(
        n=np.zeros(rows, np.int64),
        visits=np.zeros((stages, S), np.int64),
        start=np.zeros(rows, np.int64),
        size=np.zeros(rows, np.int32),
        succ=np.zeros(capacity, np.int32),
        m=np.zeros(capacity, np.int64),
        head=np.full((stages, S), -1, np.int32),
        link_row=np.zeros(capacity, np.int32),
        link_next=np.zeros(capacity, np.int32),
        used=np.zeros(3, np.int64),
    )


@inlined
def has_room(counts: Counts, steps: int) -> bool:
    """Return whether `counts` has room for any `steps` more transitions."""
    largest_block = 2 * (counts.used[2] + steps)
    return (
        counts.used[0] + steps * largest_block <= counts.succ.size
        and counts.used[1] + steps <= counts.link_row.size
    )


@inlined
def add(counts: Counts, row: int, stage: int, state: int, successor: int, times: int) -> None:
    """Count transitions; there must be room for one, see `has_room`.

    Parameters
    ----------
    counts : Counts
        Changed in place.
    row : int
        Row of the transition.
    stage, state : int
        Stage and state of the row.
    successor : int
        Next state.
    times : int
        How often the transition was observed.
    """
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
    """Make room for a new successor in the block of a row.

    Parameters
    ----------
    counts : Counts
        Changed in place.
    row, stage : int
        Row, and its stage.
    successor : int
        Next state, not yet in the row's block.
    at : int
        Position in the pool at which it belongs.

    Returns
    -------
    int
        Its position in the pool, which differs from `at` if the block had to move.
    """
    size = np.int64(counts.size[row])
    first = counts.start[row]
    if size & (size - 1) == 0:  # empty, or a block that is full
        block = counts.used[0]
        counts.used[0] += max(1, 2 * size)
        for j in range(size):
            counts.succ[block + j] = counts.succ[first + j]
            counts.m[block + j] = counts.m[first + j]
        at += block - first
        first = block
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


def with_room(counts: Counts, steps: int) -> Counts:
    """Return `counts` with room for `steps` more transitions, doubling its capacity as needed."""
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
    """Return the counts of a dense array of `transitions`.

    Parameters
    ----------
    shape : Shape
        Size of the problem.
    transitions : Ints
        M', (H, S, A, S), or (S, A, S) for pooled counts.

    Returns
    -------
    Counts
        The same counts in sparse form.
    """
    S, A = shape.states, shape.actions
    counts = empty_counts(shape, 1 if transitions.ndim == 3 else shape.horizon)
    table = transitions.reshape(-1, S)
    for row, y in np.argwhere(table > 0):
        stage, state = divmod(int(row) // A, S)
        counts = with_room(counts, 1)
        add(counts, int(row), stage, state, int(y), int(table[row, y]))
    return counts


def to_dense(shape: Shape, counts: Counts) -> tuple[Ints, Ints]:
    """Return `counts` as dense arrays N' (stages, S, A) and M' (stages, S, A, S).

    `shape` is the size of the problem; pooled counts have one stage.
    """
    stages, S = counts.visits.shape
    A = shape.actions
    m = np.zeros((counts.n.size, S), np.int64)
    for row in np.flatnonzero(counts.size):
        block = slice(counts.start[row], counts.start[row] + counts.size[row])
        m[row, counts.succ[block]] = counts.m[block]
    return counts.n.reshape(stages, S, A).copy(), m.reshape(stages, S, A, S)
