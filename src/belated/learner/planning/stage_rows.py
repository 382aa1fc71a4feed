"""Backups of a block of rows of a stage from packed counts.

The values of the successors are gathered first, so that the compiler can process several rows of
a block with one instruction. `specialise` makes a copy of each function for each backup and number
of successors.
"""

from typing import Any, Final

import numpy as np

from belated.compiled import gather_tuple, load_tuple, store_output, view
from belated.learner.backup_call import Row, Stage, back_up_row
from belated.learner.planning.packed import BLOCK_ROWS
from belated.learner.planning.stages_call import StagesCall

WIDTH: Final = 2
"""Number of successors that are read for each row. `specialise` replaces this value in each copy
of a function."""

POSITIONS: Final[Any] = (0, 1)
"""The numbers 0 .. WIDTH - 1, which are passed to the backup as `row.succ`. `specialise` replaces
this value in each copy of a function."""


def back_up_block(call: StagesCall, constants: Any, h: int, begin: int) -> None:
    """Store Q_h(s, a) of the `BLOCK_ROWS` rows of step `h` from row `begin` on in `call.out`.

    The body of the loop has no branches and no loops of unknown length, so that the compiler
    vectorises it. In a loop of unknown length, the rows of a small stage would be computed one by
    one. `WIDTH` successors are read for each row; unused ones have count 0 and add 0.0 to a sum,
    which changes no bit. The results of rows without observations are not valid. `constants` is a
    tuple of the constants of the backup, which the caller reads once for all blocks.
    """
    actions = call.actions
    count = call.states * actions
    stage_number = h if call.stages > 1 else 0
    packed, first = 4 * count * stage_number, count * stage_number
    # read before the loop, because the compiler does not know that its stores do not change them
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
