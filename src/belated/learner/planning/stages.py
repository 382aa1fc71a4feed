"""Backward induction over whole stages, for backups that are declared elementwise.

`plan_stages` computes all rows of a stage at once from packed counts: the values of the successors
are gathered first, so that the compiler can process several rows with one instruction. One call
computes several stages. The results are bit-identical to those of `back_up_rows`, which computes
one row after another.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import dereference, gather_tuple, inlined, load_tuple, store_output, view
from belated.episode import Floats
from belated.learner.backup_call import Row, Stage, back_up_row, call_signature
from belated.learner.planning.packed import BLOCK_ROWS
from belated.worklist import put_at


class StagesCall(NamedTuple):
    """Arguments of one call of a compiled backup, for all rows of several stages.

    Arrays are passed as pointers to their data; see `belated.learner.backup_call.BackupCall`.
    """

    constants: NDArray[np.float64]
    h: int  # first step to compute; the steps before it follow
    horizon: int
    states: int
    actions: int
    stages: int  # number of stages of the counts: horizon, or 1 for pooled counts
    width: int  # number of successors to read for each row
    until_same: bool  # whether to stop after a step without a changed value
    only_changed: bool  # whether to compute only rows in `touched` until a value changes
    every_state: bool  # whether to compute the values of states beyond `reach`, too
    monotone: bool  # whether no Q may become larger than in the previous plan
    reads_best: bool  # whether the backup reads the largest or the smallest value
    reads_visits: bool  # whether the backup reads visits
    chooses: bool  # whether to store the greedy actions; if not, `switched` shows where they change
    two_actions: bool  # whether `plan_two_actions` can be used
    tolerance: float  # see `store_stage`
    seed: np.uint64
    plan: int
    q: NDArray[np.float64]  # (horizon, states * actions) of the plan, as the next five
    v: NDArray[np.float64]  # (horizon + 1, states)
    greedy: NDArray[np.int32]  # (horizon, states) greedy actions
    top: NDArray[np.float64]  # (horizon + 1)
    low: NDArray[np.float64]  # (horizon + 1)
    order: NDArray[np.int32]  # not read
    rewards: NDArray[np.float64]  # (horizon, states * actions)
    has_fixed: bool
    fixed: NDArray[np.float64]  # (horizon, states * actions) fixed values, else NaN, if has_fixed
    visits: NDArray[np.int64]  # (stages, states)
    no_visits: NDArray[np.int64]  # (states) zeros
    succ: NDArray[np.int32]  # this field and the next four: see PackedCounts
    m: NDArray[np.int32]
    n: NDArray[np.int32]
    next_visits: NDArray[np.int32]
    unseen: NDArray[np.int64]
    reach: NDArray[np.int64]  # (horizon + 1) see Config
    out: NDArray[np.float64]  # (states * actions) receives Q of a stage
    switched: NDArray[np.int64]  # (horizon) receives 1 or 0, see `store_stage`
    touched_head: NDArray[np.int32]  # rows with new observations, by stage: see Worklist
    touched_after: NDArray[np.int32]
    changed_head: NDArray[np.int32]  # receives h * states + s where an action changed: see Worklist
    changed_after: NDArray[np.int32]


SIGNATURE: Final = call_signature(StagesCall)

WIDTH: Final = 2
"""Number of successors that `back_up_stage` reads for each row. `specialise` replaces this value in
each copy of the function."""

CONSTANTS: Final = 1
"""Number of constants of the backup that `back_up_stage` calls. `specialise` replaces this value in
each copy of the function."""

POSITIONS: Final[Any] = (0, 1)
"""The numbers 0 .. WIDTH - 1, which `back_up_stage` passes to the backup as `row.succ`.
`specialise` replaces this value in each copy of the function."""


@inlined
def never_seen(call: StagesCall, h: int) -> int:
    """Return the number of rows of the counts of step `h` that cannot be visited.

    It is 0 if the values of all states are computed.
    """
    if call.every_state:
        return 0
    reach = call.reach[h] if call.stages > 1 else call.reach[call.horizon]
    return (call.states - int(reach)) * call.actions


MOVED: Final = 1
"""Bit of a result: a value V~_h(s) changed."""

SWITCHED: Final = 2
"""Bit of a result: an action in `call.greedy` is no longer the best one, or is tied."""

UNSEEN: Final = 4
"""Bit of the result of `update_touched`: a row without observations was found and not computed."""


def back_up_block(call: StagesCall, h: int, begin: int, actions: int) -> None:
    """Store Q_h(s, a) of the `BLOCK_ROWS` rows of step `h` from row `begin` on in `call.out`.

    The body of the loop has no branches and no loops of unknown length, so that the compiler
    vectorises it. In a loop of unknown length, the rows of a small stage would be computed one by
    one. `WIDTH` successors are read for each row; unused ones have count 0 and add 0.0 to a sum,
    which changes no bit. The results of rows without observations are not valid. `actions` is
    `call.actions`, or a constant.
    """
    count = call.states * actions
    stage_number = h if call.stages > 1 else 0
    packed, first = 4 * count * stage_number, count * stage_number
    # read before the loop, because the compiler does not know that its stores do not change them
    constants = load_tuple(call.constants, 0, 1, CONSTANTS)
    top, low, order = call.top[h + 1], call.low[h + 1], view(call.order, call.states)
    for i in range(begin, begin + BLOCK_ROWS):
        stage = Stage(
            h,
            call.horizon,
            gather_tuple(call.v, (h + 1) * call.states, call.succ, packed + i, count, WIDTH),
            load_tuple(call.next_visits, i, count, WIDTH),
            top,
            low,
            order,
            call.seed,
            call.plan,
            0,
        )
        m = load_tuple(call.m, packed + i, count, WIDTH)
        s = i // actions
        reward = load_tuple(call.rewards, h * count + i, 1, 1)[0]
        # known to be positive, which removes the other branch
        n = max(load_tuple(call.n, first + i, 1, 1)[0], np.int32(1))
        row = Row(s, i - s * actions, n, reward, 0, WIDTH, POSITIONS, m, first + i)
        store_output(call.out, i, back_up_row(constants, stage, row))


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


def update_touched(call: StagesCall, h: int, actions: int) -> int:
    """Compute and store the values of the rows of step `h` that have new observations.

    All other values of the step must be up to date, and ties must go to the first action.
    `actions` is `call.actions`, or a constant.

    Returns the sum of the bits `MOVED`, `SWITCHED` and `UNSEEN` that apply.
    """
    S, A = call.states, actions
    count = S * A
    packed, first, after, state = 4 * count * h, count * h, (h + 1) * S, h * S
    found = 0
    row = int(call.touched_head[h])
    while row >= 0:
        i = row - first
        if call.n[row] == 0:
            return found | UNSEEN
        stage = Stage(
            h,
            call.horizon,
            gather_tuple(call.v, after, call.succ, packed + i, count, WIDTH),
            load_tuple(call.next_visits, 0, 1, WIDTH),
            call.top[h + 1],
            call.low[h + 1],
            view(call.order, S),
            call.seed,
            call.plan,
            0,
        )
        m = load_tuple(call.m, packed + i, count, WIDTH)
        s = i // A
        reward, n = call.rewards[row], max(call.n[row], np.int32(1))
        data = Row(s, i - s * A, n, reward, 0, WIDTH, POSITIONS, m, row)
        q = back_up_row(load_tuple(call.constants, 0, 1, CONSTANTS), stage, data)
        if call.has_fixed and not math.isnan(call.fixed[row]):
            q = call.fixed[row]
        if q != call.q[row] and not (call.monotone and q > call.q[row]):
            call.q[row] = q
            # without further branches, which would often be mispredicted
            best, new = 0, call.q[first + s * A]
            for a in range(1, A):
                other = call.q[first + s * A + a]
                best = a if other > new else best
                new = other if other > new else new
            found |= SWITCHED if best != call.greedy[state + s] else 0
            found |= MOVED if new != call.v[state + s] else 0
            call.v[state + s] = new
        row = int(call.touched_after[row])
    return found


@inlined
def store_stage(
    new_q: Floats,
    q: Floats,
    v: Floats,
    greedy: NDArray[np.int32],
    monotone: bool,
    tolerance: float,
) -> tuple[bool, bool]:
    """Store the new Q of all rows of a step, and the maximum over the actions of each state.

    Parameters
    ----------
    new_q : Floats
        (S * A) new values; changed in place if `monotone`.
    q, v : Floats
        (S * A) values Q_h(s, a) and (S) values V~_h(s) of the previous plan; replaced by the new
        values.
    greedy : NDArray
        (S) greedy actions of the previous plan.
    monotone : bool
        Whether no Q may become larger than it was.
    tolerance : float
        Values that differ by at most this much are tied; negative if ties go to the first action.

    Returns
    -------
    moved : bool
        Whether a value in `v` changed.
    switched : bool
        Whether an action in `greedy` is no longer the best one, or is tied.
    """
    S = v.size
    A = q.size // S
    if monotone:
        for i in range(q.size):
            new_q[i] = min(new_q[i], q[i])
    for i in range(q.size):
        q[i] = new_q[i]
    moved = 0
    switched = 0
    if A == 2:  # without branches, so that the compiler vectorises it
        for s in range(S):
            x, y = new_q[2 * s], new_q[2 * s + 1]
            new = y if y > x else x
            other = x if y > x else y
            switched += ((y > x) != (greedy[s] == 1)) | (other >= new - tolerance)
            moved += new != v[s]
            v[s] = new
        return moved > 0, switched > 0
    for s in range(S):
        best = 0
        for a in range(1, A):
            if new_q[s * A + a] > new_q[s * A + best]:
                best = a
        new = new_q[s * A + best]
        switched += best != greedy[s]
        if tolerance >= 0.0:
            for a in range(A):
                switched += a != best and new_q[s * A + a] >= new - tolerance
        moved += new != v[s]
        v[s] = new
    return moved > 0, switched > 0


@inlined
def choose_first(call: StagesCall, h: int, states: int) -> None:
    """Store the greedy actions of the first `states` states of step `h`; ties go to the first.

    The index h * S + s of each state whose action changes is added to the worklist `changed`.
    """
    A, state = call.actions, h * call.states
    for s in range(state, state + states):
        best = 0
        if A == 2:  # without a branch, which would often be mispredicted
            best = int(call.q[2 * s + 1] > call.q[2 * s])
        else:
            for a in range(1, A):
                if call.q[s * A + a] > call.q[s * A + best]:
                    best = a
        if best != call.greedy[s]:
            call.greedy[s] = best
            put_at(call.changed_head, call.changed_after, h, s)


@inlined
def store_extremes(call: StagesCall, h: int, states: int) -> None:
    """Store the largest and the smallest V~_h(s) of step `h` in `call.top` and `call.low`.

    Only the first `states` states are examined.
    """
    first = h * call.states
    top = low = call.v[first]
    for s in range(first + 1, first + states):
        top = max(top, call.v[s])
        low = min(low, call.v[s])
    call.top[h] = top
    call.low[h] = low


@inlined
def store_block(call: StagesCall, h: int, begin: int) -> int:
    """Store the new values of a block of rows of step `h`, for two actions.

    Q is read from `call.out`. `begin` is the first row of the block. Ties go to the first action.
    The loop has a constant length, so that the compiler uses vector instructions only.

    Returns the sum of the bits `MOVED` and `SWITCHED` that apply.
    """
    first, state = h * 2 * call.states + begin, h * call.states + begin // 2
    moved = switched = 0
    for i in range(BLOCK_ROWS // 2):
        x, y = call.out[begin + 2 * i], call.out[begin + 2 * i + 1]
        call.q[first + 2 * i] = x
        call.q[first + 2 * i + 1] = y
        new = y if y > x else x
        switched += (y > x) != (call.greedy[state + i] == 1)
        moved += new != call.v[state + i]
        call.v[state + i] = new
    return (MOVED if moved > 0 else 0) | (SWITCHED if switched > 0 else 0)


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
