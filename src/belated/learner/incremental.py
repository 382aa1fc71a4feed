"""Incremental planning: recompute only what can have changed, to the same bits as planning all.

After feedback, a row must be backed up again if it has new observations, or if it reads a value
that changed. Stages are processed from the last to the first, and a value that comes out unchanged
ends the propagation there. A base declares what its rows read: the values of their successors, the
largest and smallest value too, or all values; and possibly the visit counts of the successors.
"""

from belated.compiled import inlined, kernel
from belated.learner.backup import Batch
from belated.learner.counts import Counts
from belated.learner.planning import back_up, choose, find_extremes, first_best, order_states
from belated.learner.state import (
    READS_BEST,
    READS_EVERYTHING,
    READS_ORDER,
    Config,
    LearnerState,
    PlanTable,
    Scratch,
)
from belated.worklist import END, Worklist, put


@inlined
def list_row(scratch: Scratch, row: int, listed: int) -> int:
    """Append `row` to `scratch.rows` unless present, and return the new length for `listed`."""
    if scratch.row_stamp[row] == scratch.stamp[0]:
        return listed
    scratch.row_stamp[row] = scratch.stamp[0]
    scratch.rows[listed] = row
    return listed + 1


@inlined
def list_readers(scratch: Scratch, counts: Counts, stage: int, y: int, listed: int) -> int:
    """List the rows of a stage that have a given state among their successors.

    Parameters
    ----------
    scratch : Scratch
        Its list of rows is extended.
    counts : Counts
        Observed transitions.
    stage, y : int
        Stage of the rows, and the successor.
    listed : int
        Length of the list.

    Returns
    -------
    int
        New length of the list.
    """
    first = stage * scratch.rows.size
    link = counts.head[stage, y]
    while link != END:
        listed = list_row(scratch, counts.link_row[link] - first, listed)
        link = counts.link_next[link]
    return listed


@inlined
def list_stale(
    scratch: Scratch, counts: Counts, touched: Worklist, reads_visits: bool, h: int, moved: int
) -> int:
    """List the rows to back up at a step when the next step's extremes and order are unchanged.

    Parameters
    ----------
    scratch : Scratch
        Its list of rows is filled; `scratch.moved` holds the changed states of step h + 1.
    counts : Counts
        Observed transitions.
    touched : Worklist
        Rows with new observations.
    reads_visits : bool
        Whether backups read the visit counts of successors.
    h : int
        Step, below the last one if `reads_visits`.
    moved : int
        Number of states of step h + 1 whose value changed.

    Returns
    -------
    int
        Number of rows listed.
    """
    pooled = counts.visits.shape[0] == 1
    stage = 0 if pooled else h
    first = stage * scratch.rows.size
    listed = 0
    # Rows with new observations.
    row = touched.head[stage]
    while row != END:
        listed = list_row(scratch, row - first, listed)
        row = touched.after[row]
    # Rows with a successor whose value changed.
    for i in range(moved):
        listed = list_readers(scratch, counts, stage, scratch.moved[i], listed)
    # Rows with a successor whose visit count changed.
    if reads_visits:
        next_stage = 0 if pooled else h + 1
        row = touched.head[next_stage]
        while row != END:
            y = scratch.state_of[row - next_stage * scratch.rows.size]
            listed = list_readers(scratch, counts, stage, y, listed)
            row = touched.after[row]
    return listed


@inlined
def store_changed(config: Config, state: LearnerState, h: int, listed: int, whole: bool) -> int:
    """Store the new Q of the rows backed up and list the states in which a Q changed.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        Its table and scratch are changed in place.
    h : int
        Step.
    listed : int
        Number of rows backed up.
    whole : bool
        Whether the whole stage was backed up, row by row.

    Returns
    -------
    int
        Number of states in `scratch.states`.
    """
    table, scratch = state.table, state.scratch
    found = 0
    for i in range(listed):
        row = i if whole else int(scratch.rows[i])
        x = scratch.out[i]
        if x != table.q[h, row] and not (config.monotone and x > table.q[h, row]):
            table.q[h, row] = x
            s = scratch.state_of[row]
            # the rows of a whole stage are ordered by state
            if (found == 0 or scratch.states[found - 1] != s) and (
                whole or scratch.state_stamp[s] != scratch.stamp[0]
            ):
                scratch.state_stamp[s] = scratch.stamp[0]
                scratch.states[found] = s
                found += 1
    return found


@inlined
def plan_changes(batch: Batch, config: Config, state: LearnerState, plan: int) -> None:
    """Update the table of a learner state for the rows touched since the last plan.

    The cells h * S + s whose action changes are added to `state.changed`; `state.touched` is only
    read.

    Parameters
    ----------
    batch : Batch
        Backup of the base for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        Its table is changed in place.
    plan : int
        Number of the plan.
    """
    table, scratch, changed = state.table, state.scratch, state.changed
    H, S = table.actions.shape
    A = table.q.shape[1] // S
    moved = 0  # states of step h + 1 whose value changed, in scratch.moved
    whole = False  # whether a change at step h + 1 affects every row of step h
    for h in range(H - 1, -1, -1):
        # 1. Back up the rows that can have changed.
        scratch.stamp[0] += 1
        if whole:
            listed = S * A
            back_up(batch, config, state, plan, h, scratch.all_rows, listed)
        else:
            reads_visits = config.reads_visits and h < H - 1
            listed = list_stale(scratch, state.counts, state.touched, reads_visits, h, moved)
            if listed > 0:
                back_up(batch, config, state, plan, h, scratch.rows, listed)
        # 2. Store them.
        found = store_changed(config, state, h, listed, whole)
        # 3. Take the maximum in the states in which a Q changed.
        moved = 0
        extremes_moved = False
        for i in range(found):
            s = int(scratch.states[i])
            best = first_best(table.q, h, s, A)
            if not config.random_ties and best != table.actions[h, s]:
                table.actions[h, s] = best
                put(changed, h, h * S + s)
            new = table.q[h, s * A + best]
            old = table.v[h, s]
            if new != old:
                top, low = table.top[h], table.low[h]
                extremes_moved = extremes_moved or not low < old < top or not low <= new <= top
                table.v[h, s] = new
                scratch.moved[moved] = s
                moved += 1
        if config.random_ties:
            choose_actions(config, table, plan, h, changed)
        # 4. Find out whether that changes every row of the step before.
        whole = (
            moved > 0
            and config.reads >= READS_BEST
            and survey_values(table, h, config.reads, extremes_moved)
        )


@kernel
def choose_actions(config: Config, table: PlanTable, plan: int, h: int, changed: Worklist) -> None:
    """Choose the greedy action of every state at a step; random ties are drawn for every plan.

    Parameters
    ----------
    config : Config
        Tells how ties are broken.
    table : PlanTable
        Its actions are changed in place.
    plan, h : int
        Number of the plan, and step.
    changed : Worklist
        Receives the cells h * S + s whose action changes.
    """
    S = table.actions.shape[1]
    A = table.q.shape[1] // S
    for s in range(S):
        a = choose(config, table.q, plan, h, s, A, first_best(table.q, h, s, A))
        if a != table.actions[h, s]:
            table.actions[h, s] = a
            put(changed, h, h * S + s)


@kernel
def survey_values(table: PlanTable, h: int, reads: int, extremes_moved: bool) -> bool:
    """Update order and extremes of V~_h and tell whether every row of the step before is affected.

    Parameters
    ----------
    table : PlanTable
        Changed in place.
    h : int
        Step whose values changed.
    reads : int
        What a backup reads, an index into READS.
    extremes_moved : bool
        Whether the largest or smallest value may have changed.

    Returns
    -------
    bool
        Whether every row of step h - 1 must be backed up.
    """
    if reads == READS_ORDER:
        order_states(table, h)
    elif extremes_moved:
        top, low = table.top[h], table.low[h]
        find_extremes(table, h)
        if reads < READS_EVERYTHING:
            return top != table.top[h] or (reads > READS_BEST and low != table.low[h])
    return reads >= READS_EVERYTHING
