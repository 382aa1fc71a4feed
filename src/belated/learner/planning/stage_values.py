"""New values and greedy actions of a stage: how they are stored and compared with the old ones."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined
from belated.episode import Floats
from belated.learner.planning.packed import BLOCK_ROWS
from belated.learner.planning.stages_call import StagesCall
from belated.worklist import put_at

MOVED: Final = 1
"""Bit of a result: a value V~_h(s) changed."""

SWITCHED: Final = 2
"""Bit of a result: an action in `call.greedy` is no longer the best one, or is tied."""


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
def store_block(call: StagesCall, h: int, begin: int) -> int:
    """Store the new values of a block of rows of step `h`, for two actions.

    Q is read from `call.out`. `begin` is the first row of the block. Ties go to the first action.
    The loop has a constant length, so that the compiler unrolls it.

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
