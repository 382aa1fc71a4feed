"""Lists of the rows of a step whose backup a plan computes again."""

from belated.compiled import inlined
from belated.episode import Floats
from belated.learner.counts import Counts
from belated.learner.state import Scratch
from belated.worklist import END, Worklist


@inlined
def list_every_row(scratch: Scratch) -> int:
    """Fill the list `scratch.rows` with all rows of a step, and return their number."""
    count = int(scratch.out.size)
    for row in range(count):
        scratch.rows[row] = row
    return count


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
    is_new = scratch.row_stamp[row] != stamp
    scratch.row_stamp[row] = stamp
    scratch.rows[listed] = row  # not counted if it is not new
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
    first = stage * scratch.out.size
    link = counts.head[stage, y]
    while link != END:
        listed = list_row(scratch, stamp, counts.link_row[link] - first, listed)
        link = counts.link_next[link]
    return listed


@inlined
def is_any_level(levels: Floats, highest: float) -> bool:
    """Return whether some number in `levels` is at most `highest`."""
    found = 0
    for i in range(levels.size):
        found |= levels[i] <= highest
    return found != 0


@inlined
def list_stale(
    scratch: Scratch,
    counts: Counts,
    touched: Worklist,
    reads_visits: bool,
    actions: int,
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
    actions : int
        Number of actions.
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
    rows = scratch.out.size
    scratch.stamp[0] += 1
    stamp = scratch.stamp[0]
    listed = 0
    # Rows with new observations.
    row = touched.head[stage]
    while row != END:
        listed = list_row(scratch, stamp, row - stage * rows, listed)
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
            y = (row - next_stage * rows) // actions
            listed = list_readers(scratch, stamp, counts, stage, y, listed)
            row = touched.after[row]
    return listed
