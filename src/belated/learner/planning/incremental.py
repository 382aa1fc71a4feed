"""Incremental planning: recompute only values that can have changed since the last plan.

The result is bit-identical to that of full planning (`belated.learner.planning.full.plan_all`). The
backup of a row is computed again if the row has new observations, or if an input of the backup has
changed. Steps are processed from the last to the first; a value that remains the same causes no
further work.

A base declares which values of the next step its backup reads: only those of the row's successors;
in addition the largest value, or the largest and the smallest; or all values that are at least the
mean of the successors; or all values. The base also declares whether the backup reads the visit
counts of the successors. See `BackupRule`.
"""

import math

import numpy as np

from belated.compiled import address, count_bits, inlined, kernel, lowest_bit
from belated.learner.backup import Batch
from belated.learner.exploration import explores
from belated.learner.planning.full import (
    back_up,
    best_from,
    choose_tied,
    count_tied,
    find_extremes,
    first_best,
    order_states,
)
from belated.learner.planning.packed import pack_all, packed_width
from belated.learner.planning.readers import add_readers
from belated.learner.planning.stage_values import store_stage
from belated.learner.planning.stale import list_stale
from belated.learner.planning.whole_stages import back_up_stages, tie_tolerance
from belated.learner.state import (
    MAX_SMALL_COSTLY_STAGE,
    MAX_SMALL_STAGE,
    READS_BEST,
    READS_EVERYTHING,
    READS_EXTREMES,
    READS_ORDER,
    Config,
    LearnerState,
    PlanTable,
)
from belated.randomness import TIES, fill_uniforms
from belated.worklist import count_items, put


@inlined
def store_changed(config: Config, state: LearnerState, h: int, listed: int, whole: bool) -> int:
    """Store the new Q values of a step and list the states in which any Q changed.

    The new values are read from `state.scratch.out`. The states are written to
    `state.scratch.states`.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner; its table and scratch are changed in place.
    h : int
        Step.
    listed : int
        Number of new values.
    whole : bool
        True if there is a new value for every row, in order; False if the new values belong to the
        rows listed in `state.scratch.rows`.

    Returns
    -------
    int
        Number of states listed.
    """
    scratch, monotone = state.scratch, config.monotone
    # Pointers, whose indices are not checked for negative numbers.
    q, out, rows = address(state.table.q[h]), address(scratch.out), address(scratch.rows)
    state_of, states = address(scratch.state_of), address(scratch.states)
    found = 0
    # without branches, which would often be mispredicted
    if scratch.readers.rows.size > 0:  # there are few states: represent a set of them by bits
        bits = 0
        for i in range(listed):
            row = i if whole else int(rows[i])
            new = min(out[i], q[row]) if monotone else out[i]
            bits |= int(new != q[row]) << int(state_of[row])
            q[row] = new
        found = int(count_bits(bits))
        for i in range(found):
            states[i] = np.int32(lowest_bit(bits))
            bits &= bits - 1
        return found
    stamp, stamps = scratch.stamp[0], address(scratch.state_stamp)
    for i in range(listed):
        row = i if whole else int(rows[i])
        new = min(out[i], q[row]) if monotone else out[i]
        changed = new != q[row]
        q[row] = new
        s = state_of[row]
        last = stamps[s]
        stamps[s] = stamp if changed else last
        states[found] = s
        found += changed & (last != stamp)
    return found


@inlined
def maximise_changed(
    config: Config, state: LearnerState, h: int, found: int
) -> tuple[int, bool, float]:
    """Set V~_h(s) = max_a Q_h(s, a) in each state s that is listed in `state.scratch.states`.

    If ties are not broken at random, the greedy actions of these states are updated, too.

    The states whose value changed are written to `state.scratch.moved`.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner; its table and scratch are changed in place.
    h : int
        Step.
    found : int
        Number of states listed.

    Returns
    -------
    moved : int
        Number of states whose value changed.
    extremes_moved : bool
        Whether the largest value of the step may have changed, or the smallest value in a way that
        every row is affected or all values must be searched.
    highest : float
        Largest value of the states whose value changed, before or after the change; computed only
        if there are levels.
    """
    table, scratch = state.table, state.scratch
    S = table.actions.shape[1]
    A = config.actions
    # Pointers, whose indices are not checked for negative numbers.
    q, v, actions = address(table.q[h]), address(table.v[h]), address(table.actions[h])
    states, moved_states = address(scratch.states), address(scratch.moved)
    top, low = table.top[h], table.low[h]
    reads_best, reads_low = config.reads >= READS_BEST, config.reads == READS_EXTREMES
    has_levels = scratch.levels.size > 0
    moved = 0
    extremes_moved = False
    highest = -math.inf
    # without branches that would often be mispredicted
    for i in range(found):
        s = int(states[i])
        best = best_from(q, s * A, A)
        if not config.random_ties and best != actions[s]:
            actions[s] = best
            put(state.changed, h, h * S + s)
        new, old = q[s * A + best], v[s]
        changed = new != old
        if reads_best:
            extremes_moved |= (
                (new > top)
                | ((old == top) & (new < top))
                | ((old == low) & (new > low))
                | ((new < low) & reads_low)
            )
            low = low if reads_low else min(low, new)
        if has_levels:
            highest = max(highest, max(old, new) if changed else -math.inf)
        v[s] = new
        moved_states[moved] = s
        moved += changed
    if reads_best:
        table.low[h] = low
    return moved, extremes_moved, highest


@inlined
def plan_changes(batch: Batch, config: Config, state: LearnerState, plan: int) -> None:
    """Update the plan in the table of a learner state by incremental planning.

    The rows with new observations are read from `state.touched`, which is not changed. The index
    h * S + s of each (step, state) whose action changes is added to `state.changed`.

    Parameters
    ----------
    batch : Batch
        Functions that compute the base's backup for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner; its table is changed in place.
    plan : int
        Number of the plan, part of the key of random numbers.
    """
    table, scratch = state.table, state.scratch
    H, S = table.actions.shape
    A = config.actions
    if scratch.readers.links[0] != state.counts.used[1] and scratch.readers.rows.size > 0:
        add_readers(scratch.readers, state.counts)
    width = packed_width(scratch.packed, state.counts)
    dense = False  # whether most values are expected to change at every step
    only_changed = False  # whether steps without changes are skipped nevertheless
    if width > 0:
        if not scratch.packed.valid[0]:
            pack_all(scratch.packed, state.counts)
            width = packed_width(scratch.packed, state.counts)  # 0 if a count is too large
        pooled = state.counts.visits.shape[0] == 1
        small = MAX_SMALL_COSTLY_STAGE if pooled else MAX_SMALL_STAGE
        dense = small >= S * A or (pooled and 4 * count_items(state.touched, 0) >= S)
        only_changed = dense and not (pooled or config.reads_visits or config.random_ties)
    chooses = not (config.random_ties or config.skips_explored)  # with the values of whole stages
    moved = 0  # states of step h + 1 whose value changed, in scratch.moved
    highest = -math.inf  # largest value of these states, before or after the change
    whole = False  # whether a change at step h + 1 affects every row of step h
    reads_all = config.reads >= READS_EVERYTHING and scratch.levels.size == 0
    h = H
    while h > 0:
        h -= 1
        # Compute whole stages where most values change.
        if width > 0 and (dense or whole or 4 * moved >= S):
            last = back_up_stages(
                batch, config, state, plan, h, width, not dense, only_changed, chooses
            )
            while h >= last and not chooses:
                if scratch.switched[h] == 1:
                    choose_actions(config, state, plan, h)
                h -= 1
            h = last
            moved, whole = 0, False
            continue
        # 1. Compute the backups that can have changed.
        scratch.stamp[0] += 1
        rows, listed = scratch.all_rows, S * A
        if not whole:
            reads_visits = config.reads_visits and h < H - 1
            listed = list_stale(
                scratch, state.counts, state.touched, reads_visits, h, moved, highest
            )
            rows = scratch.rows
        if listed > 0:
            back_up(batch, config, state, plan, h, rows, listed)
        # 2. Store the new values, and take the maximum in the states in which a Q changed.
        if whole and reads_all:  # the next step needs no list of states
            tolerance = tie_tolerance(config)
            q, v, greedy = table.q[h], table.v[h], table.actions[h]
            states, switched = store_stage(scratch.out, q, v, greedy, config.monotone, tolerance)
            moved, extremes_moved = int(states != 0), states != 0
        else:
            found = store_changed(config, state, h, listed, whole)
            moved, extremes_moved, highest = maximise_changed(config, state, h, found)
            switched = config.random_ties
        if switched:
            choose_actions(config, state, plan, h)
        # 3. Find out whether the new values affect every row of the previous step.
        whole = (
            moved > 0
            and config.reads >= READS_BEST
            and (extremes_moved or reads_all or config.reads == READS_ORDER)
            and survey_values(table, h, config.reads, reads_all, extremes_moved)
        )


@kernel
def choose_actions(config: Config, state: LearnerState, plan: int, h: int) -> None:
    """Choose the greedy action of every state that can be reached at a step; see `Config.reach`.

    If ties are broken at random, they are drawn anew for every plan.

    Parameters
    ----------
    config : Config
        Configuration of the learner; `config.random_ties` selects how ties are broken.
    state : LearnerState
        State of the learner. The actions in its table are changed in place, and the index
        h * S + s of each state whose action changes is added to `state.changed`.
    plan, h : int
        Number of the plan, and step.
    """
    table, scratch = state.table, state.scratch
    S = table.actions.shape[1]
    A = config.actions
    if not (config.random_ties or config.skips_explored):
        for s in range(config.reach[h]):
            best = first_best(table.q, h, s, A)
            if best != table.actions[h, s]:
                table.actions[h, s] = best
                put(state.changed, h, h * S + s)
        return
    found = 0  # cells h * S + s with tied actions, in scratch.states
    for s in range(config.reach[h]):
        if config.skips_explored and explores(state.exploration, h, s):
            continue
        best = first_best(table.q, h, s, A)
        tied = count_tied(table.q, h, s, A, best) if config.random_ties else 1
        if tied > 1:
            scratch.states[found] = h * S + s
            scratch.tied[found] = tied
            found += 1
        elif best != table.actions[h, s]:
            table.actions[h, s] = best
            put(state.changed, h, h * S + s)
    fill_uniforms(config.seed, TIES, plan, scratch.states, found, scratch.uniforms)
    for i in range(found):
        s = int(scratch.states[i]) - h * S
        a = int(scratch.uniforms[i] * scratch.tied[i])
        if scratch.tied[i] < A:  # `a` counts tied actions only
            a = choose_tied(table.q, h, s, A, first_best(table.q, h, s, A), a)
        if a != table.actions[h, s]:
            table.actions[h, s] = a
            put(state.changed, h, h * S + s)


@kernel
def survey_values(
    table: PlanTable, h: int, reads: int, reads_all: bool, extremes_moved: bool
) -> bool:
    """Update the order or the extremes of V~_h after some of its values have changed.

    The order lists the states by V~_h; the extremes are the largest and the smallest V~_h.

    Parameters
    ----------
    table : PlanTable
        Values of the plan. The order or the extremes of step `h` are changed in place, as far as
        the backup reads them.
    h : int
        Step whose values changed.
    reads : int
        Inputs of the backup, as an index into `READS`.
    reads_all : bool
        Whether every row reads all values; see `RowTerms.has_level`.
    extremes_moved : bool
        Whether the largest or smallest value may have changed.

    Returns
    -------
    bool
        Whether the backup of every row of step h - 1 must be computed again.
    """
    top, low = table.top[h], table.low[h]
    if reads == READS_ORDER:
        order_states(table, h)
    elif extremes_moved:
        find_extremes(table, h)
    return reads_all or top != table.top[h] or (reads == READS_EXTREMES and low != table.low[h])
