"""Counts N' and M' of observed visits and transitions, as sparse arrays that can grow.

A row is the index of a (stage, state, action) triple: row = (stage * S + state) * A + action. The
observed successors of a row are stored in one block of an array that all rows share, called the
pool. They are sorted by state, so that sums over successors do not depend on the order of arrival.
The capacity of a block is a power of two; a full block is moved to a new block of twice the
capacity. Pooled counts have one stage, which counts every step of an episode.
"""

from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Ints, Shape

Number = TypeVar("Number", bound=np.generic)

NEW: Final = -1
"""Result of `add` for a successor that had not been observed before."""


class Counts(NamedTuple):
    """Sparse counts as plain arrays, used by compiled code and stored in snapshots."""

    n: NDArray[np.int64]  # (rows) N'(h, s, a)
    visits: NDArray[np.int64]  # (stages, S) N'(h, s)
    start: NDArray[np.int64]  # (rows) start of the row's block in the pool
    size: NDArray[np.int32]  # (rows) number of distinct successors observed
    succ: NDArray[np.int32]  # (pool) successor states
    m: NDArray[np.int64]  # (pool) M'(h, s, a, succ)
    # For each stage and state, a linked list of the rows that have this state as a successor:
    head: NDArray[np.int32]  # (stages, S) first link of the list, or -1
    link_row: NDArray[np.int32]  # (links) row of the link
    link_next: NDArray[np.int32]  # (links) next link of the list, or -1
    used: NDArray[np.int64]  # (3) pool used, links used, largest number of successors of a row


def empty_counts(shape: Shape, stages: int) -> Counts:
    """Return counts of zero for a problem of size `shape`.

    `stages` is the number of stages: H, or 1 for pooled counts.
    """
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
    """Return whether `counts` has free capacity for `steps` arbitrary further transitions."""
    largest_block = 2 * (counts.used[2] + steps)
    return (
        counts.used[0] + steps * largest_block <= counts.succ.size
        and counts.used[1] + steps <= counts.link_row.size
    )


@inlined
def add(counts: Counts, row: int, stage: int, state: int, successor: int, times: int) -> int:
    """Add one or more observations of the same transition to the counts.

    Parameters
    ----------
    counts : Counts
        Changed in place. `has_room(counts, 1)` must be true.
    row : int
        Index of the (stage, state, action) of the transition.
    stage, state : int
        Stage and state of the row.
    successor : int
        Next state.
    times : int
        Number of observations of the transition.

    Returns
    -------
    int
        Position of the successor in the block of the row, or NEW if it was not in the block.
    """
    counts.n[row] += times
    counts.visits[stage, state] += times
    first = counts.start[row]
    at = first
    end = first + counts.size[row]
    while at < end and counts.succ[at] < successor:
        at += 1
    if at == end or counts.succ[at] != successor:
        at = insert(counts, row, stage, successor, at)
        counts.m[at] += times
        return NEW
    counts.m[at] += times
    return at - first


@kernel
def insert(counts: Counts, row: int, stage: int, successor: int, at: int) -> int:
    """Insert a new successor with count 0 into the block of a row.

    The block of a row is the part of `counts.succ` and `counts.m` that holds its successors. A full
    block is moved to a new position.

    Parameters
    ----------
    counts : Counts
        Changed in place.
    row, stage : int
        Row, and its stage.
    successor : int
        Next state, not yet in the block of the row.
    at : int
        Index in `counts.succ` at which the successor is inserted, so that the block stays sorted.

    Returns
    -------
    int
        Index of the successor in `counts.succ`; it differs from `at` if the block was moved.
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
    """Return `counts` with free capacity for `steps` more transitions, enlarged if necessary."""
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
    """Return sparse counts with the values of a dense array.

    Parameters
    ----------
    shape : Shape
        Size of the problem.
    transitions : Ints
        M', of shape (H, S, A, S), or (S, A, S) for pooled counts.

    Returns
    -------
    Counts
        The same counts in sparse form.

    Raises
    ------
    ValueError
        If `transitions` has another shape, or contains anything but integers of at least 0.
    """
    S, A = shape.states, shape.actions
    expected = (S, A, S) if transitions.ndim == 3 else (shape.horizon, S, A, S)
    if transitions.shape != expected or transitions.dtype.kind not in "iu":
        raise ValueError(
            f"transitions must be integers of shape {expected}, got {transitions.dtype} of shape "
            f"{transitions.shape}."
        )
    if transitions.min() < 0:
        raise ValueError(f"transitions must be at least 0, got {transitions.min()}.")
    counts = empty_counts(shape, 1 if transitions.ndim == 3 else shape.horizon)
    table = transitions.reshape(-1, S)
    for row, y in np.argwhere(table > 0):
        stage, state = divmod(int(row) // A, S)
        counts = with_room(counts, 1)
        add(counts, int(row), stage, state, int(y), int(table[row, y]))
    return counts


def to_dense(shape: Shape, counts: Counts) -> tuple[Ints, Ints]:
    """Return `counts` as dense arrays N' (stages, S, A) and M' (stages, S, A, S).

    `shape` is the size of the problem. The number of stages is H, or 1 for pooled counts.
    """
    stages, S = counts.visits.shape
    A = shape.actions
    m = np.zeros((counts.n.size, S), np.int64)
    for row in np.flatnonzero(counts.size):
        block = slice(counts.start[row], counts.start[row] + counts.size[row])
        m[row, counts.succ[block]] = counts.m[block]
    return counts.n.reshape(stages, S, A).copy(), m.reshape(stages, S, A, S)
