"""Packed counts: a copy of the counts in which a whole stage can be read at once.

`Counts` stores the successors of each row in a block of its own, anywhere in a pool. Packed counts
store the first successor of all rows of a stage, then the second successor of all rows, and so on,
with count 0 where a row has fewer. Counts are stored as 32-bit integers, since the conversion of
64-bit integers to floats would take much of the time. `belated.learner.planning.stages` reads them.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import address, inlined
from belated.learner.counts import Counts
from belated.worklist import END, Worklist

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
    valid: NDArray[np.bool_]  # (1) whether all rows have been packed
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


@inlined
def pack_row(
    packed: PackedCounts, counts: Counts, state_of: NDArray[np.int32], stage: int, at: int
) -> None:
    """Copy the counts of a row from `counts` to `packed`.

    `at` is the number of the row within its `stage`, s * A + a, and `state_of[at]` is s. Pointers
    are used, because they are faster than arrays, whose indices may be negative.
    """
    rows = packed.n.shape[1]
    n, succ, m = address(packed.n[stage]), address(packed.succ[stage]), address(packed.m[stage])
    row = stage * rows + at
    size, first = address(counts.size)[row], address(counts.start)[row]
    if size == 0:
        return
    if address(counts.visits[stage])[address(state_of)[at]] > MAX_COUNT:
        packed.too_large[0] = True
        return
    if n[at] == 0:
        packed.unseen[stage] -= 1
    n[at] = address(counts.n)[row]
    for j in range(size):
        succ[j * rows + at] = address(counts.succ)[first + j]
        m[j * rows + at] = address(counts.m)[first + j]


@inlined
def pack(
    packed: PackedCounts, counts: Counts, touched: Worklist, state_of: NDArray[np.int32]
) -> int:
    """Copy rows of `counts` to `packed`, and return the number of rows copied.

    `touched` lists the rows with new observations, which are copied. The first call for `packed`
    copies all rows. `state_of` holds the state of each row of a stage.
    """
    stages, rows = packed.n.shape
    if not packed.valid[0]:
        for stage in range(stages):
            for at in range(rows):
                pack_row(packed, counts, state_of, stage, at)
        packed.valid[0] = True
        return counts.n.size
    copied = 0
    for stage in range(stages):
        row = int(touched.head[stage])
        while row != END:
            pack_row(packed, counts, state_of, stage, row - stage * rows)
            row = int(address(touched.after)[row])
            copied += 1
    return copied
