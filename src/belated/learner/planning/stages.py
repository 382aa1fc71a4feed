"""Backward induction over whole stages, for backups that are declared elementwise.

`plan_stages` computes all rows of a stage at once from packed counts. One call computes several
stages. The results are bit-identical to those of `back_up_rows`, which computes listed rows.
"""

import math
from typing import Final

import numpy as np

from belated.compiled import dereference, inlined, load_tuple, view
from belated.learner.backup_call import Row, Stage, back_up_row
from belated.learner.planning.changed_rows import plan_changed
from belated.learner.planning.packed import BLOCK_ROWS
from belated.learner.planning.stage_rows import WIDTH, back_up_block
from belated.learner.planning.stage_values import (
    any_switched,
    choose_first,
    store_extremes,
    store_stage,
)
from belated.learner.planning.stages_call import StagesCall

CONSTANTS: Final = 1
"""Number of constants of the backup. `specialise` replaces this value in each copy of a
function."""


@inlined
def never_seen(call: StagesCall, h: int) -> int:
    """Return the number of rows of the counts of step `h` that cannot be visited.

    It is 0 if the values of all states are computed.
    """
    if call.every_state:
        return 0
    reach = call.reach[h] if call.stages > 1 else call.reach[call.horizon]
    return (call.states - int(reach)) * call.actions


@inlined
def any_seen(call: StagesCall, begin: int) -> bool:
    """Return whether any of the `BLOCK_ROWS` rows of the counts from row `begin` on is observed."""
    total = 0
    for i in range(begin, begin + BLOCK_ROWS):
        total |= call.n[i]
    return total != 0


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
    constants = load_tuple(call.constants, 0, 1, CONSTANTS)
    all_seen = call.unseen[stage_number] == never_seen(call, h)
    for block in range((rows + BLOCK_ROWS - 1) // BLOCK_ROWS):
        begin = min(block * BLOCK_ROWS, count - BLOCK_ROWS)
        if all_seen or any_seen(call, first + begin):
            back_up_block(call, constants, h, begin)
    # Rows without observations.
    if all_seen:
        return
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


back_up_stage_2 = back_up_stage_4 = back_up_stage
plan_changed_2 = plan_changed_4 = plan_changed
"""Placeholders in `plan_stages`. `specialise` replaces them by copies of `back_up_stage` and
`plan_changed` in which `WIDTH` is 2 or 4."""


def plan_whole(pointer: StagesCall, first: int, changed: int) -> int:
    """Compute all values of step `first`, then the steps before it; see `plan_stages`.

    It is not part of `plan_stages`, because a plan that needs no whole step would then take longer.

    Parameters
    ----------
    pointer : StagesCall
        Pointer to the `call`.
    first : int
        First step to compute.
    changed : int
        States of this step whose value has changed already, as the bits of an integer.

    Returns
    -------
    int
        Last step computed.
    """
    call = dereference(pointer)
    S, count = call.states, call.states * call.actions
    out = view(call.out, count)
    h = first
    while h >= 0:
        states = S if call.every_state else int(call.reach[h])
        if call.width == 2:
            back_up_stage_2(call, h, states)
        else:
            back_up_stage_4(call, h, states)
        begin, rows = h * count, states * call.actions
        if call.has_fixed:
            for i in range(rows):
                if not math.isnan(call.fixed[begin + i]):
                    out[i] = call.fixed[begin + i]
        v = view(call.v, h * S + states)[h * S :]
        greedy = view(call.greedy, h * S + states)[h * S :]
        q = view(call.q, begin + rows)[begin:]
        moved, switched = store_stage(out, q, v, greedy, call.monotone, call.tolerance)
        if switched and call.skips_explored:
            explored = view(call.explored, begin + rows)[begin:]
            switched = any_switched(q, greedy, explored, call.tolerance)
        call.switched[h] = switched
        if switched and call.chooses:
            choose_first(call, h, states)
        moved |= changed
        if call.reads_best and moved != 0:
            store_extremes(call, h, states)
        if call.until_same and moved == 0:
            return h
        h -= 1
        changed = 0
        if call.only_changed:
            if call.width == 2:
                h, changed = plan_changed_2(pointer, h, moved)
            else:
                h, changed = plan_changed_4(pointer, h, moved)
    return 0


def plan_stages(pointer: StagesCall) -> int:
    """Compute all values of step `call.h`, then of the steps before it, in descending order.

    `pointer` is a pointer to the `call`.

    The following arrays in `call` are changed in place: the values `q` and `v`; if `call.chooses`,
    `greedy` and the list `changed`; otherwise `switched`, which is set to 1 at each step at which
    an action in `call.greedy` is no longer the best one or is tied, and to 0 at the other steps
    computed; and, if the backup reads them, `top` and `low`, the largest and the smallest value of
    each step. The loop ends after step 0 or, if `call.until_same`, after the first step at which no
    value changed. Returns the last step computed.

    Values of states that `call.reach` excludes are not computed unless `call.every_state`.

    If `call.only_changed`, all values were up to date before the observations of the rows in
    `call.touched_head`. Only the values that can have changed are then computed.
    """
    call = dereference(pointer)
    h, changed = call.h, 0
    if call.only_changed:
        if call.width == 2:
            h, changed = plan_changed_2(pointer, h, 0)
        else:
            h, changed = plan_changed_4(pointer, h, 0)
        if h < 0:
            return 0
    return plan_whole(pointer, h, changed)
