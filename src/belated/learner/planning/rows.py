"""The planner: backward induction that computes again the rows whose value can have changed.

Steps are processed from the last to the first. The backup of a row is computed again if the row has
new observations, or if an input of the backup has changed. All rows of a step are computed if a
quarter of the values of the next step have changed, because then most rows are stale; a full plan
is the same loop with every row stale. Each value is the result of one call of the base's backup,
which is a pure function of its inputs, so that all ways give the same bits.

A base declares which values of the next step its backup reads: only those of the row's successors;
in addition the largest value, or the largest and the smallest; or all values that are at least the
mean of the successors; or all values; or also their order. The base also declares whether the
backup reads the visit counts of the successors. See `BackupRule`.
"""

import math

from belated.compiled import dereference, inlined, kernel
from belated.learner.backup import READS_BEST
from belated.learner.planning.greedy import (
    choose_actions,
    maximise,
    store_values,
    survey_values,
)
from belated.learner.planning.loops import Loops
from belated.learner.state import (
    MOVED,
    NEXT_STEP,
    WHOLE,
    Config,
    Counts,
    LearnerRecord,
    LearnerState,
    Scratch,
)
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
    if moved > 0:
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


@inlined
def replace_fixed(config: Config, state: LearnerState, h: int, listed: int) -> None:
    """Replace the new values of terminal states and forbidden actions by their fixed values.

    The new values of the first `listed` rows in `scratch.rows` of `state`, for step `h`, are in
    `scratch.out`. `config` holds the fixed values.
    """
    for i in range(listed):
        value = config.fixed[h, state.scratch.rows[i]]
        if not math.isnan(value):
            state.scratch.out[i] = value


@kernel
def plan_rows(loops: Loops, pointer: LearnerRecord, plan: int, every_row: bool, limit: int) -> bool:
    """Update the table of a learner to the plan for its counts and rewards.

    The rows with new observations are read from `state.touched`, which is not changed. The index
    h * S + s of each (step, state) whose action changes is added to `state.changed`.

    Parameters
    ----------
    loops : Loops
        Functions of the base.
    pointer : LearnerRecord
        Pointer to the record of the learner.
    plan : int
        Number of the plan, part of the key of random numbers.
    every_row : bool
        Whether to compute every row.
    limit : int
        Work, counted in `Scratch.work`, from which on the plan stops before the next step. The next
        call goes on from there.

    Returns
    -------
    bool
        Whether the plan is complete.
    """
    record = dereference(pointer)
    config, state = record.config, record.state
    scratch, progress = state.scratch, state.scratch.progress
    H = state.table.actions.shape[0]
    if progress[NEXT_STEP] == 0:  # a new plan
        progress.fill(0)
        progress[NEXT_STEP] = H
        scratch.highest[0] = -math.inf
    moved, whole = progress[MOVED], progress[WHOLE] == 1
    highest = scratch.highest[0]
    while progress[NEXT_STEP] > 0:
        if scratch.work[0] >= limit:
            progress[MOVED], progress[WHOLE], scratch.highest[0] = moved, whole, highest
            return False
        h = progress[NEXT_STEP] - 1
        # 1. Compute the backups that can have changed.
        if every_row or whole or 4 * moved >= scratch.no_visits.size:  # most rows are stale
            scratch.stamp[0] += 1
            listed = int(scratch.out.size)
            for i in range(listed):
                scratch.rows[i] = i
        else:
            reads_visits = config.reads_visits and h < H - 1
            listed = list_stale(
                scratch,
                state.counts,
                state.touched,
                reads_visits,
                config.actions,
                h,
                moved,
                highest,
            )
        if listed > 0:
            scratch.work[0] += listed
            loops.rows(pointer, h, plan, listed)
            if config.fixed.size > 0:
                replace_fixed(config, state, h, listed)
        # 2. Store the new values, and take the maximum in the states in which a Q changed.
        found = store_values(config, state, h, listed)
        moved, extremes_moved, highest = maximise(config, state, h, found)
        if config.random_ties:
            choose_actions(config, state, plan, h)
        # 3. Find out whether the new values affect every row of the previous step.
        whole = (
            moved > 0
            and config.reads >= READS_BEST
            and survey_values(config, state, h, extremes_moved)
        )
        progress[NEXT_STEP] = h
    return True
