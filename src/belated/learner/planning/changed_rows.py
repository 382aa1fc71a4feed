"""Backups of single rows from packed counts: of those whose values can have changed.

In a stage of at most 64 rows, a set of rows or states is represented by the bits of an integer.
`Readers` gives the rows that must be computed again when the value of a state changes.
"""

import math
from typing import Any, Final

import numpy as np

from belated.compiled import (
    count_bits,
    dereference,
    gather_tuple,
    load_tuple,
    lowest_bit,
    view,
)
from belated.learner.backup_call import Row, Stage, back_up_row
from belated.learner.planning.stage_values import store_extremes, store_row
from belated.learner.planning.stages_call import StagesCall

WIDTH: Final = 2
CONSTANTS: Final = 1
POSITIONS: Final[Any] = (0, 1)
"""`specialise` replaces these values in each copy of a function; see
`belated.learner.planning.stage_rows` and `stages`."""

MAX_SINGLE_ROWS: Final = 12
"""Largest number of rows of a step that are computed one by one because the value of a successor
changed."""


def plan_changed(pointer: StagesCall, first: int, moved: int) -> tuple[int, int]:
    """Compute and store the values and greedy actions that can have changed, row by row.

    These are the values of the rows with new observations, and of the rows that have a successor
    whose value changed. Steps are computed in descending order until one must be computed as
    a whole: rows without observations have to be computed, more rows than `MAX_SINGLE_ROWS`, or all
    rows because a changed value can affect them.

    Parameters
    ----------
    pointer : StagesCall
        Pointer to a `call` with `call.only_changed`. Ties go to the first action.
    first : int
        First step to compute.
    moved : int
        States of step `first` + 1 whose value changed, as the bits of an integer.

    Returns
    -------
    step : int
        Step that must be computed as a whole; -1 if there is none.
    changed : int
        States of this step whose value has changed already, as the bits of an integer.
    """
    call = dereference(pointer)
    S, A = call.states, call.actions
    count = S * A
    constants = load_tuple(call.constants, 0, 1, CONSTANTS)
    for h in range(first, -1, -1):
        if moved != 0 and not call.by_rows:
            return h, 0
        packed, first_row, state, after = 4 * count * h, count * h, h * S, (h + 1) * S
        changed = done = rest = 0
        row = int(call.touched_head[h])
        while True:
            # The rows with new observations come first: the processor can begin with them before
            # it knows which values have changed.
            if row >= 0:
                if call.n[row] == 0:
                    return h, changed
                i = row - first_row
                row = int(call.touched_after[row])
                done |= 1 << i
            else:
                while moved != 0:
                    rest |= call.readers[state + lowest_bit(moved)]
                    moved &= moved - 1
                rest &= ~done
                if rest == 0:
                    break
                if count_bits(rest) > MAX_SINGLE_ROWS:
                    return h, changed
                i = lowest_bit(rest)
                done |= 1 << i
            at = first_row + i
            s = int(call.state_of[i])
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
            n = max(call.n[at], np.int32(1))  # known to be positive, which removes a branch
            data = Row(s, i - s * A, n, call.rewards[at], 0, WIDTH, POSITIONS, m, at)
            q = back_up_row(constants, stage, data)
            if call.has_fixed and not math.isnan(call.fixed[at]):
                q = call.fixed[at]
            if q != call.q[at] and not (call.monotone and q > call.q[at]):
                changed |= store_row(call, state + s, i - s * A, q) << s
        moved = changed
        if call.reads_best and moved != 0:
            store_extremes(call, h, S if call.every_state else int(call.reach[h]))
    return -1, 0
