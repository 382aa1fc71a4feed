"""Packed counts: a copy of the counts in which a whole stage can be read at once.

`Counts` stores the successors of each row in a block of its own, anywhere in a pool. Packed counts
store the first successor of all rows of a stage, then the second successor of all rows, and so on,
with count 0 where a row has fewer. Counts are stored as 32-bit integers, since the conversion of
64-bit integers to floats would take much of the time. Each observation is counted in both; only the
counts of a snapshot are copied. `stage_rows` and `changed_rows` read packed counts.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import address, inlined, kernel
from belated.learner.counts import NEW, Counts

WIDTHS: Final = (2, 4)
"""Numbers of successors per row for which a loop is compiled. With more successors, a stage is
computed row by row."""

MAX_COUNT: Final = 2**31 - 1
"""Largest number of visits to one state in one stage that packed counts can hold."""

BLOCK_ROWS: Final = 8
"""Number of rows that a compiled loop computes together; a stage must have at least as many."""


class PackedCounts(NamedTuple):
    """Copy of the counts in the packed layout, and working memory for visits of successors."""

    succ: NDArray[np.int32]  # (stages, 4 * S * A) successors, or (1, 0) if not in use
    m: NDArray[np.int32]  # (stages, 4 * S * A) their counts
    n: NDArray[np.int32]  # (stages, S * A) N'
    next_visits: NDArray[np.int32]  # (4 * S * A) visits of the successors
    unseen: NDArray[np.int64]  # (stages) number of rows without observations
    valid: NDArray[np.bool_]  # (1) whether `pack_all` has copied the first counts of the learner
    too_large: NDArray[np.bool_]  # (1) whether a count is too large, so that none can be used


def empty_packed(stages: int, rows: int) -> PackedCounts:
    """Return packed counts without observations.

    `stages` is the number of stages of the counts, and `rows` the number of rows of a stage; both
    are 0 if packed counts are not used.
    """
    size = WIDTHS[-1] * rows
    return PackedCounts(
        succ=np.zeros((max(1, stages), size), np.int32),
        m=np.zeros((max(1, stages), size), np.int32),
        n=np.zeros((max(1, stages), rows), np.int32),
        next_visits=np.zeros(size, np.int32),
        unseen=np.full(stages, rows),
        valid=np.zeros(1, np.bool_),
        too_large=np.zeros(1, np.bool_),
    )


@inlined
def packed_width(packed: PackedCounts, counts: Counts) -> int:
    """Return the number of successors to read for each row: 2 or 4, or 0.

    It is the smallest width that suffices for all rows of `counts`. It is 0 if the counts in
    `packed` cannot be used: no packed counts are kept, a row has more than 4 successors, or a state
    has more than MAX_COUNT visits.
    """
    most = counts.used[2]
    if packed.succ.size == 0 or most > 4 or packed.too_large[0]:
        return 0
    return 2 if most <= 2 else 4


@kernel
def pack_row(packed: PackedCounts, counts: Counts, stage: int, at: int) -> None:
    """Copy the successors and the counts of a row from `counts` to `packed`.

    `at` is the number of the row within its `stage`, s * A + a. The row must have observations.
    """
    rows = packed.n.shape[1]
    row = stage * rows + at
    if packed.n[stage, at] == 0:
        packed.unseen[stage] -= 1
    packed.n[stage, at] = counts.n[row]
    first = counts.start[row]
    for j in range(counts.size[row]):
        packed.succ[stage, j * rows + at] = counts.succ[first + j]
        packed.m[stage, j * rows + at] = counts.m[first + j]


@inlined
def count_packed(
    packed: PackedCounts, counts: Counts, stage: int, state: int, row: int, position: int
) -> None:
    """Repeat in `packed` an observation that has just been added to `counts`.

    Parameters
    ----------
    packed : PackedCounts
        Changed in place, unless it cannot be used.
    counts : Counts
        Counts with the observation.
    stage, state, row : int
        Stage, state and row of the observation.
    position : int
        Result of `counts.add`.
    """
    if packed.n.size == 0 or counts.used[2] > WIDTHS[-1]:
        return
    rows = packed.n.shape[1]
    if counts.visits[stage, state] > MAX_COUNT:
        packed.too_large[0] = True
    elif position == NEW:
        pack_row(packed, counts, stage, row - stage * rows)
    else:  # pointers are faster than arrays, whose indices may be negative
        first = (WIDTHS[-1] - 1) * stage * rows  # a stage has WIDTHS[-1] times as many entries
        address(packed.n)[row] += np.int32(1)
        address(packed.m)[first + position * rows + row] += np.int32(1)


@kernel
def pack_all(packed: PackedCounts, counts: Counts) -> None:
    """Copy all rows of `counts` to `packed`, for counts that were not added one by one."""
    stages, rows = packed.n.shape
    for stage in range(stages):
        packed.unseen[stage] = rows
        for at in range(rows):
            packed.n[stage, at] = 0
            if counts.size[stage * rows + at] > 0:
                pack_row(packed, counts, stage, at)
        for s in range(counts.visits.shape[1]):
            if counts.visits[stage, s] > MAX_COUNT:
                packed.too_large[0] = True
    packed.valid[0] = True
