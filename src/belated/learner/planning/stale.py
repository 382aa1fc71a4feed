"""Lists of the rows of a step whose backup incremental planning computes again."""

import numpy as np

from belated.compiled import address, count_bits, inlined, lowest_bit
from belated.episode import Floats
from belated.learner.counts import Counts
from belated.learner.state import Scratch
from belated.worklist import END, Worklist


@inlined
def list_row(scratch: Scratch, stamp: int, row: int, listed: int) -> int:
    """Append a row to the list `scratch.rows` unless the list contains it.

    Parameters
    ----------
    scratch : Scratch
        Working memory; its list of rows is changed in place.
    stamp : int
        `scratch.stamp[0]`, which the callers read once.
    row : int
        Index of the row within its stage, s * A + a.
    listed : int
        Number of rows in the list.

    Returns
    -------
    int
        New number of rows in the list.
    """
    # without a branch, which would often be mispredicted
    is_new = scratch.row_stamp[row] != stamp
    scratch.row_stamp[row] = stamp
    scratch.rows[listed] = row
    return listed + is_new


@inlined
def list_readers(
    scratch: Scratch, stamp: int, counts: Counts, stage: int, y: int, listed: int
) -> int:
    """Append to `scratch.rows` the rows of a stage from which a given successor was observed.

    Rows that the list contains already are not appended again.

    Parameters
    ----------
    scratch : Scratch
        Working memory; its list of rows is changed in place.
    stamp : int
        See `list_row`.
    counts : Counts
        Observed transitions.
    stage : int
        Stage of the rows.
    y : int
        Successor: a state of the next step.
    listed : int
        Number of rows in the list.

    Returns
    -------
    int
        New number of rows in the list.
    """
    first = stage * scratch.all_rows.size
    link = counts.head[stage, y]
    while link != END:
        listed = list_row(scratch, stamp, counts.link_row[link] - first, listed)
        link = counts.link_next[link]
    return listed


@inlined
def is_any_level(levels: Floats, highest: float) -> bool:
    """Return whether some number in `levels` is at most `highest`.

    The loop has no branches, so that the compiler vectorises it.
    """
    found = 0
    for i in range(levels.size):
        found |= levels[i] <= highest
    return found != 0


@inlined
def list_stale_bits(
    scratch: Scratch,
    touched: Worklist,
    reads_visits: bool,
    stage: int,
    next_stage: int,
    h: int,
    moved: int,
    highest: float,
) -> int:
    """List the stale rows of a step in ascending order; see `list_stale`.

    The sets in `scratch.readers` are used, in place of linked lists and stamps.

    Parameters
    ----------
    scratch, touched, reads_visits, h, moved, highest
        See `list_stale`.
    stage, next_stage : int
        Stage of the counts of steps h and h + 1.

    Returns
    -------
    int
        Number of rows listed.
    """
    count = scratch.all_rows.size
    readers = address(scratch.readers.rows[stage])
    stale = 0
    # Rows with new observations.
    row = int(touched.head[stage])
    while row != END:
        stale |= 1 << (row - stage * count)
        row = int(touched.after[row])
    # Rows with a successor whose value changed.
    for i in range(moved):
        stale |= int(readers[scratch.moved[i]])
    # Rows that read a changed value because it is at least their level.
    if moved > 0 and is_any_level(scratch.levels[h], highest):
        for i in range(scratch.levels.shape[1]):
            stale |= int(scratch.levels[h, i] <= highest) << i
    # Rows with a successor whose visit count changed.
    if reads_visits:
        row = int(touched.head[next_stage])
        while row != END:
            stale |= int(readers[scratch.state_of[row - next_stage * count]])
            row = int(touched.after[row])
    rows = address(scratch.rows)
    listed = count_bits(stale)
    for i in range(listed):
        rows[i] = np.int32(lowest_bit(stale))
        stale &= stale - 1
    return int(listed)


@inlined
def list_stale(
    scratch: Scratch,
    counts: Counts,
    touched: Worklist,
    reads_visits: bool,
    h: int,
    moved: int,
    highest: float,
) -> int:
    """List the stale rows of a step, whose values must be computed again.

    A row is stale if it has new observations, if one of its successors has a changed value, or if
    a changed value is at least its level (`RowTerms.has_level`). With `reads_visits`, a row is also
    stale if one of its successors has a changed visit count.

    This list is complete unless a change at step h + 1, such as a new largest value, affects every
    row of step h.

    Parameters
    ----------
    scratch : Scratch
        Working memory. Its list of rows is filled; the first entries of `scratch.moved` are the
        states of step h + 1 whose value changed.
    counts : Counts
        Observed transitions.
    touched : Worklist
        Rows with new observations, grouped by stage.
    reads_visits : bool
        Whether the backup reads the visit counts of the successors. Must be False at the last
        step.
    h : int
        Step.
    moved : int
        Number of states of step h + 1 whose value changed.
    highest : float
        Largest value of these states; each state counts with its value before the change and with
        its value after the change.

    Returns
    -------
    int
        Number of rows listed.
    """
    pooled = counts.visits.shape[0] == 1
    stage, next_stage = (0, 0) if pooled else (h, h + 1)
    if scratch.readers.rows.size > 0:
        return list_stale_bits(scratch, touched, reads_visits, stage, next_stage, h, moved, highest)
    first = stage * scratch.all_rows.size
    stamp = scratch.stamp[0]
    listed = 0
    # Rows with new observations.
    row = touched.head[stage]
    while row != END:
        listed = list_row(scratch, stamp, row - first, listed)
        row = touched.after[row]
    # Rows with a successor whose value changed.
    for i in range(moved):
        listed = list_readers(scratch, stamp, counts, stage, scratch.moved[i], listed)
    # Rows that read a changed value because it is at least their level.
    if moved > 0 and is_any_level(scratch.levels[h], highest):
        for i in range(scratch.levels.shape[1]):
            if scratch.levels[h, i] <= highest:
                listed = list_row(scratch, stamp, i, listed)
    # Rows with a successor whose visit count changed.
    if reads_visits:
        row = touched.head[next_stage]
        while row != END:
            y = scratch.state_of[row - next_stage * scratch.all_rows.size]
            listed = list_readers(scratch, stamp, counts, stage, y, listed)
            row = touched.after[row]
    return listed
