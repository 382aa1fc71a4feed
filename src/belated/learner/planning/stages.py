"""Backward induction over whole stages, for backups that are declared elementwise.

`plan_stages` computes all rows of a stage at once from packed counts. One call computes several
stages. The results are bit-identical to those of `back_up_rows`, which computes one row after
another.
"""

import math

import numpy as np

from belated.compiled import dereference, inlined, load_tuple, view
from belated.learner.backup_call import Row, Stage, back_up_row
from belated.learner.planning.packed import BLOCK_ROWS
from belated.learner.planning.stage_rows import (
    CONSTANTS,
    UNSEEN,
    WIDTH,
    back_up_block,
    update_touched,
)
from belated.learner.planning.stage_values import (
    MOVED,
    SWITCHED,
    choose_first,
    store_block,
    store_extremes,
    store_stage,
)
from belated.learner.planning.stages_call import StagesCall


@inlined
def never_seen(call: StagesCall, h: int) -> int:
    """Return the number of rows of the counts of step `h` that cannot be visited.

    It is 0 if the values of all states are computed.
    """
    if call.every_state:
        return 0
    reach = call.reach[h] if call.stages > 1 else call.reach[call.horizon]
    return (call.states - int(reach)) * call.actions


def back_up_stage(call: StagesCall, h: int, states: int) -> None:
    """Store Q_h(s, a) of all rows of the first `states` states of step `h` in `call.out`.

    Rows are computed in blocks. The last block may overlap the one before it, or contain rows of
    further states, which are not used. Rows without observations are computed in a second loop.
    """
    S, count = call.states, call.states * call.actions
    rows = states * call.actions
    stage_number = h if call.stages > 1 else 0
    packed, first = 4 * count * stage_number, count * stage_number
    # Gather the visits of the successors.
    after = (h + 1) * S
    visited = (stage_number + 1) * S if call.stages > 1 else 0
    if call.reads_visits:
        if h == call.horizon - 1:
            for i in range(WIDTH * count):
                call.next_visits[i] = np.int32(0)
        elif call.stages > 1 or h == call.h or h == call.horizon - 2:  # else as one step later
            for i in range(WIDTH * count):
                call.next_visits[i] = np.int32(call.visits[visited + call.succ[packed + i]])
    # Rows with observations.
    for block in range((rows + BLOCK_ROWS - 1) // BLOCK_ROWS):
        back_up_block(call, h, min(block * BLOCK_ROWS, count - BLOCK_ROWS), call.actions)
    # Rows without observations.
    if call.unseen[stage_number] == never_seen(call, h):
        return
    constants = load_tuple(call.constants, 0, 1, CONSTANTS)
    order = view(call.order, S)
    rewards = h * count
    visits = view(call.no_visits, S)
    if h < call.horizon - 1:
        visits = view(call.visits, visited + S)[visited:]
    whole = Stage(
        h,
        call.horizon,
        view(call.v, after + S)[after:],
        visits,
        call.top[h + 1],
        call.low[h + 1],
        order,
        call.seed,
        call.plan,
        0,
    )
    succ, observed = view(call.succ, 1), view(call.m, 1)
    value, reward_of_value = 0.0, math.nan  # rows with the same reward have the same value
    for i in range(rows):
        if call.n[first + i] == 0:
            reward = call.rewards[rewards + i]
            if reward != reward_of_value:
                s = i // call.actions
                a = i - s * call.actions
                row = Row(s, a, 0, reward, 0, 0, succ, observed, first + i)
                value, reward_of_value = back_up_row(constants, whole, row), reward
            call.out[i] = value


def plan_two_actions(pointer: StagesCall) -> int:
    """Do what `plan_stages` does, in less time, in the most common case.

    `pointer` is a pointer to a `call` with two actions, at most two successors of each row,
    `call.only_changed`, `call.chooses`, and no fixed values. All rows of states within `call.reach`
    must have been observed, except at step `call.h`, the last one. Q may become larger.

    The values of some further states are stored, which are not valid.
    """
    call = dereference(pointer)
    S = call.states
    moved = False  # whether a value of step h + 1 changed
    for h in range(call.h, -1, -1):
        states = int(call.reach[h])
        if moved:
            found = 0
            for block in range((2 * states + BLOCK_ROWS - 1) // BLOCK_ROWS):
                begin = min(block * BLOCK_ROWS, 2 * S - BLOCK_ROWS)
                back_up_block(call, h, begin, 2)
                found |= store_block(call, h, begin)
        else:
            found = update_touched(call, h, 2)
        moved = (found & MOVED) != 0
        if (found & SWITCHED) != 0:
            choose_first(call, h, states)
        if call.reads_best and moved:
            store_extremes(call, h, states)
    return 0


back_up_stage_2 = back_up_stage_4 = back_up_stage
update_touched_2 = update_touched_4 = update_touched
"""Placeholders in `plan_stages`. `specialise` replaces them by copies of `back_up_stage` and
`update_touched` in which `WIDTH` is 2 or 4."""


def plan_stages(pointer: StagesCall) -> int:
    """Compute all values of step `call.h`, then of the steps before it, in descending order.

    `pointer` is a pointer to the `call`.

    The following arrays in `call` are changed in place: the values `q` and `v`; `switched`, which
    is set to 1 at each step at which an action in `call.greedy` is no longer the best one or is
    tied, and to 0 at the other steps computed; if `call.chooses`, `greedy` and the list `changed`;
    and, if the backup reads them, `top` and `low`, the largest and the smallest value of each step.
    The loop ends after step 0 or, if `call.until_same`, after the first step at which no value
    changed. Returns the last step computed.

    Values of states that `call.reach` excludes are not computed unless `call.every_state`.

    If `call.only_changed`, all values were up to date before the observations of the rows in
    `call.touched_head`. A step whose successors have their old values is then not computed as a
    whole: only these rows of it are.
    """
    call = dereference(pointer)
    if call.two_actions:
        return plan_two_actions(pointer)
    S, count = call.states, call.states * call.actions
    out = view(call.out, count)
    moved = not call.only_changed  # whether a value of step h + 1 changed
    for h in range(call.h, -1, -1):
        states = S if call.every_state else int(call.reach[h])
        moved_alone = False
        if not moved:
            A = call.actions
            found = (
                update_touched_2(call, h, A) if call.width == 2 else update_touched_4(call, h, A)
            )
            moved_alone = (found & MOVED) != 0
            if (found & UNSEEN) == 0:
                moved = moved_alone
                call.switched[h] = (found & SWITCHED) != 0
                if (found & SWITCHED) != 0 and call.chooses:
                    choose_first(call, h, states)
                if call.reads_best and moved:
                    store_extremes(call, h, states)
                continue
        if call.width == 2:
            back_up_stage_2(call, h, states)
        else:
            back_up_stage_4(call, h, states)
        first, rows = h * count, states * call.actions
        if call.has_fixed:
            for i in range(rows):
                if not math.isnan(call.fixed[first + i]):
                    out[i] = call.fixed[first + i]
        v = view(call.v, h * S + states)[h * S :]
        greedy = view(call.greedy, h * S + states)[h * S :]
        q = view(call.q, first + rows)[first:]
        moved, switched = store_stage(out, q, v, greedy, call.monotone, call.tolerance)
        moved = moved or moved_alone
        call.switched[h] = switched
        if switched and call.chooses:
            choose_first(call, h, states)
        if call.reads_best and moved:
            store_extremes(call, h, states)
        if call.until_same and not moved:
            return h
        moved = moved or not call.only_changed
    return 0
