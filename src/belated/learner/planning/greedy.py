"""New values of a step: they are stored, maximised over the actions, and ties are broken.

Both the planner of the CPU and that of the GPU choose actions by the functions of this module.
"""

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Floats
from belated.learner.backup import READS_BEST, READS_EVERYTHING, READS_EXTREMES, READS_ORDER
from belated.randomness import TIES, uniform
from belated.worklist import put

if TYPE_CHECKING:
    from belated.learner.state import Config, LearnerState

TIE_TOLERANCE: Final = 1e-11
"""Largest difference of two values that are regarded as tied, if ties are broken at random."""


@inlined
def first_best(q: Floats, first: int, A: int) -> int:
    """Return the action with the largest value; ties go to the lowest action.

    The values of the `A` actions of a state are in `q`, from the index `first` on.
    """
    best = 0
    for a in range(1, A):
        if q[first + a] > q[first + best]:
            best = a
    return best


@inlined
def break_tie(
    q: Floats, first: int, A: int, best: int, seed: np.uint64, plan: int, cell: int
) -> int:
    """Return one of the actions whose value is tied with the largest one, drawn uniformly.

    Parameters
    ----------
    q, first, A
        See `first_best`, whose result is `best`.
    seed, plan, cell
        Seed of the learner, number of the plan and index h * S + s: the key of the random number.

    Returns
    -------
    int
        Action; `best` if no other action is tied with it.
    """
    limit = q[first + best] - TIE_TOLERANCE
    tied = 0
    for a in range(A):
        tied += q[first + a] >= limit
    if tied == 1:
        return best
    skip = int(uniform(seed, TIES, plan, cell) * tied)
    for a in range(A):
        if q[first + a] >= limit:
            if skip == 0:
                return a
            skip -= 1
    return best


@inlined
def store_values(config: "Config", state: "LearnerState", h: int, listed: int) -> int:
    """Store the new Q of the rows in `scratch.rows`, and list the states in which any Q changed.

    Parameters
    ----------
    config : Config
        Configuration of the learner. If `config.monotone`, no value becomes larger.
    state : LearnerState
        State of the learner. The new values are in `scratch.out`; the states are written to
        `scratch.states`.
    h : int
        Step.
    listed : int
        Number of new values.

    Returns
    -------
    int
        Number of states listed.
    """
    scratch, q = state.scratch, state.table.q[h]
    stamp = scratch.stamp[0]
    found = 0
    for i in range(listed):
        row = scratch.rows[i]
        new = min(scratch.out[i], q[row]) if config.monotone else scratch.out[i]
        changed = new != q[row]
        q[row] = new
        s = row // config.actions
        last = scratch.state_stamp[s]
        scratch.state_stamp[s] = stamp if changed else last
        scratch.states[found] = s
        found += changed & (last != stamp)
    return found


@inlined
def maximise(
    config: "Config", state: "LearnerState", h: int, found: int
) -> tuple[int, bool, float]:
    """Set V~_h(s) = max_a Q_h(s, a) in each state s that is listed in `scratch.states`.

    If ties go to the first action, the greedy actions of these states are updated, too. The states
    whose value changed are written to `scratch.moved`.

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
        Whether the largest or the smallest value of the step may have changed, as far as the backup
        reads them.
    highest : float
        Largest value of the states whose value changed, before or after the change; computed only
        if there are levels.
    """
    scratch, A = state.scratch, config.actions
    q, v, actions = state.table.q[h], state.table.v[h], state.table.actions[h]
    top, low = state.table.top[h], state.table.low[h]
    reads_best, reads_low = config.reads >= READS_BEST, config.reads >= READS_EXTREMES
    has_levels = scratch.levels.size > 0
    moved = 0
    extremes_moved = False
    highest = -math.inf
    for i in range(found):
        s = scratch.states[i]
        best = first_best(q, s * A, A)
        if not config.random_ties and best != actions[s]:
            actions[s] = best
            put(state.changed, h, h * v.size + s)
        new, old = q[s * A + best], v[s]
        changed = new != old
        if reads_best:
            extremes_moved |= (new > top) | ((old == top) & (new < top))
            extremes_moved |= reads_low & ((new < low) | ((old == low) & (new > low)))
        if has_levels and changed:
            highest = max(highest, max(old, new))
        v[s] = new
        scratch.moved[moved] = s
        moved += changed
    return moved, extremes_moved, highest


@inlined
def choose_actions(config: "Config", state: "LearnerState", plan: int, h: int) -> None:
    """Choose the greedy action of every state of a step.

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
    q, actions, A = state.table.q[h], state.table.actions[h], config.actions
    for s in range(actions.size):
        cell = h * actions.size + s
        action = first_best(q, s * A, A)
        if config.random_ties:
            action = break_tie(q, s * A, A, action, config.seed, plan, cell)
        if action != actions[s]:
            actions[s] = action
            put(state.changed, h, cell)


@inlined
def follows(v: Floats, x: int, y: int) -> bool:
    """Return whether state `x` comes after state `y` in descending order of the values `v`.

    States with equal values are ordered by index.
    """
    return v[x] < v[y] or (v[x] == v[y] and x > y)


@kernel
def order_states(v: Floats, order: NDArray[np.int32]) -> None:
    """Sort the states in `order` by their values `v`, in descending order, in place.

    States with equal values are ordered by index, so that the order is unique. Insertion sort is
    fast here, because the order usually differs little from that of the previous plan.
    """
    for i in range(1, v.size):
        y = order[i]
        at = i
        while at > 0 and follows(v, order[at - 1], y):
            order[at] = order[at - 1]
            at -= 1
        order[at] = y


@kernel
def find_extremes(v: Floats) -> tuple[float, float]:
    """Return the largest and the smallest of the values `v`."""
    top = low = v[0]
    for s in range(1, v.size):
        top = max(top, v[s])
        low = min(low, v[s])
    return top, low


@inlined
def survey_values(config: "Config", state: "LearnerState", h: int, extremes_moved: bool) -> bool:
    """Update the order or the extremes of V~_h after some of its values have changed.

    Parameters
    ----------
    config : Config
        Configuration of the learner, with the inputs of its backup.
    state : LearnerState
        State of the learner. The order or the extremes of step `h` in its table are changed in
        place, as far as the backup reads them.
    h : int
        Step whose values changed.
    extremes_moved : bool
        Whether the largest or smallest value may have changed.

    Returns
    -------
    bool
        Whether the backup of every row of step h - 1 must be computed again.
    """
    table = state.table
    top, low = table.top[h], table.low[h]
    if config.reads == READS_ORDER:
        order_states(table.v[h], table.order[h])
    if extremes_moved:
        table.top[h], table.low[h] = find_extremes(table.v[h])
    if config.reads >= READS_EVERYTHING and state.scratch.levels.size == 0:
        return True  # every row reads all values
    return top != table.top[h] or (config.reads == READS_EXTREMES and low != table.low[h])
