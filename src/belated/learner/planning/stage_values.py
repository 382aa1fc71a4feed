"""New values and greedy actions of a stage: how they are stored and compared with the old ones."""

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined
from belated.episode import Bools, Floats
from belated.learner.planning.stages_call import StagesCall
from belated.worklist import put_at


@inlined
def store_stage(
    new_q: Floats,
    q: Floats,
    v: Floats,
    greedy: NDArray[np.int32],
    monotone: bool,
    tolerance: float,
) -> tuple[int, bool]:
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
    moved : int
        0 if no value in `v` changed. Otherwise bit s modulo 64 is set for each state s whose value
        changed.
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
            moved |= int(new != v[s]) << (s & 63)
            v[s] = new
        return moved, switched > 0
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
        moved |= int(new != v[s]) << (s & 63)
        v[s] = new
    return moved, switched > 0


@inlined
def any_switched(q: Floats, greedy: NDArray[np.int32], explored: Bools, tolerance: float) -> bool:
    """Return whether an action is no longer the best one, or is tied, where no action is explored.

    Parameters
    ----------
    q : Floats
        (S * A) values Q_h(s, a).
    greedy : NDArray
        (S) greedy actions of the previous plan.
    explored : Bools
        (S * A) mask of the actions to explore.
    tolerance : float
        See `store_stage`.

    Returns
    -------
    bool
        The result for the states without an action in the mask.
    """
    S = greedy.size
    A = q.size // S
    found = 0
    if A == 2:  # without branches, so that the compiler vectorises it
        for s in range(S):
            x, y = q[2 * s], q[2 * s + 1]
            old = y if greedy[s] == 1 else x
            other = x if greedy[s] == 1 else y
            plays = not (explored[2 * s] | explored[2 * s + 1])
            found += (other >= old - tolerance) & plays
        return found > 0
    for s in range(S):
        old = q[s * A + greedy[s]]
        switched, plays = 0, True
        for a in range(A):
            switched += q[s * A + a] >= old - tolerance
            plays &= not explored[s * A + a]
        found += (switched > 1) & plays
    return found > 0


@inlined
def store_row(call: StagesCall, cell: int, action: int, q: float) -> int:
    """Store a new Q of one row, and the value and the greedy action of its state.

    Ties go to the first action. If the greedy action changes, the cell is added to the worklist
    `changed`. It stays there if another row of the state changes the action back.

    Parameters
    ----------
    call : StagesCall
        Arguments of the call, with the arrays to change.
    cell, action : int
        Index h * S + s, and action of the row.
    q : float
        New value.

    Returns
    -------
    int
        1 if the value of the state changes, otherwise 0.
    """
    A = call.actions
    call.q[cell * A + action] = q
    if A == 2:  # without branches that would often be mispredicted, and without reading `q` again
        other = call.q[2 * cell + 1 - action]
        new = other if other > q else q
        best = 1 - action if other > q else action
        best = 0 if other == q else best
    else:
        best = 0
        for a in range(1, A):
            if call.q[cell * A + a] > call.q[cell * A + best]:
                best = a
        new = call.q[cell * A + best]
    if best != call.greedy[cell]:
        call.greedy[cell] = best
        put_at(call.changed_head, call.changed_after, cell // call.states, cell)
    moved = int(new != call.v[cell])
    call.v[cell] = new
    return moved


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
