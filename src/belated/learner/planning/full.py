"""Backward induction, used by every base.

`plan_all` computes every value of a plan. It is the reference method: incremental planning must
give bit-identical results. Each value is the result of one call of the base's backup, which is
a pure function of its inputs.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from belated.compiled import address, inlined, kernel, reference
from belated.episode import Floats
from belated.learner.backup import Batch
from belated.learner.backup_call import BackupCall
from belated.learner.counts import Counts
from belated.learner.state import (
    READS_ORDER,
    Config,
    LearnerState,
    PlanTable,
)
from belated.randomness import TIES, uniform

TIE_TOLERANCE: Final = 1e-11
"""Largest difference of two values that are regarded as tied, if ties are broken at random."""


@inlined
def first_best(q: Floats, h: int, s: int, A: int) -> int:
    """Return the action that maximizes Q_h(s, a); ties go to the lowest action.

    Parameters
    ----------
    q : Floats
        (H, S * A) values.
    h, s : int
        Step and state.
    A : int
        Number of actions.

    Returns
    -------
    int
        Action.
    """
    return best_from(address(q[h]), s * A, A)


@inlined
def best_from(q: Floats, first: int, A: int) -> int:
    """Return the position of the first largest number among `A` numbers of `q`, from `first` on.

    `q` is an array or a pointer; the position is counted from `first`.
    """
    if A == 2:  # without a branch, which would often be mispredicted
        return int(q[first + 1] > q[first])
    best = 0
    for a in range(1, A):
        if q[first + a] > q[first + best]:
            best = a
    return best


@inlined
def choose(config: Config, q: Floats, plan: int, h: int, s: int, A: int, best: int) -> int:
    """Return the greedy action; the configuration selects how ties are broken.

    Parameters
    ----------
    config : Config
        Configuration of the learner; if `config.random_ties`, a tied action is drawn at random.
    q : Floats
        (H, S * A) values.
    plan : int
        Number of the plan, part of the key of the random number.
    h, s : int
        Step and state.
    A : int
        Number of actions.
    best : int
        Result of `first_best` for this step and state.

    Returns
    -------
    int
        Action.
    """
    if not config.random_ties:
        return best
    tied = count_tied(q, h, s, A, best)
    if tied == 1:
        return best
    u = uniform(config.seed, TIES, plan, h * (q.shape[1] // A) + s)
    return choose_tied(q, h, s, A, best, int(u * tied))


@inlined
def count_tied(q: Floats, h: int, s: int, A: int, best: int) -> int:
    """Return the number of actions whose Q_h(s, a) is tied with the largest one, at least 1.

    Parameters
    ----------
    q : Floats
        (H, S * A) values.
    h, s : int
        Step and state.
    A : int
        Number of actions.
    best : int
        Result of `first_best` for this step and state.

    Returns
    -------
    int
        Number of actions, including `best`.
    """
    limit = q[h, s * A + best] - TIE_TOLERANCE
    tied = 0
    for a in range(A):
        tied += q[h, s * A + a] >= limit
    return tied


@inlined
def choose_tied(q: Floats, h: int, s: int, A: int, best: int, skip: int) -> int:
    """Return one of the actions that `count_tied` counts: the one after the first `skip` of them.

    The other parameters are those of `count_tied`.
    """
    limit = q[h, s * A + best] - TIE_TOLERANCE
    action = 0
    for a in range(A):
        if q[h, s * A + a] >= limit:
            if skip == 0:
                action = a
            skip -= 1
    return action


@inlined
def follows(v: Floats, x: int, y: int) -> bool:
    """Return whether state `x` comes after state `y` in descending order of the values `v`.

    States with equal values are ordered by index.
    """
    return v[x] < v[y] or (v[x] == v[y] and x > y)


@kernel
def order_states(table: PlanTable, h: int) -> None:
    """Sort the states of step `h` by V~_h, in descending order, and store the order in `table`.

    The largest and the smallest V~_h are stored in `table` as well. States with equal values are
    ordered by index, so that the order is unique. Insertion sort is fast here, because the order
    usually differs little from that of the previous plan.
    """
    order, v = address(table.order[h]), address(table.v[h])
    S = table.v.shape[1]
    last = int(order[0])
    v_last = v[last]
    for i in range(1, S):
        y = int(order[i])
        v_y = v[y]
        if v_y < v_last or (v_y == v_last and y > last):  # in order
            last, v_last = y, v_y
            continue
        at = i
        while at > 0 and follows(v, int(order[at - 1]), y):
            order[at] = order[at - 1]
            at -= 1
        order[at] = y
        last = int(order[i])
        v_last = v[last]
    table.top[h] = v[order[0]]
    table.low[h] = v[order[S - 1]]


@kernel
def find_extremes(table: PlanTable, h: int) -> None:
    """Update the largest and the smallest value of V~_h in `table`, for step `h`."""
    top = low = table.v[h, 0]
    for s in range(1, table.v.shape[1]):
        top = max(top, table.v[h, s])
        low = min(low, table.v[h, s])
    table.top[h] = top
    table.low[h] = low


@inlined
def count_steps(counts: Counts) -> int:
    """Return the number of observed steps: the sum of all N' in `counts`."""
    total = 0
    for stage in range(counts.visits.shape[0]):
        for s in range(counts.visits.shape[1]):
            total += counts.visits[stage, s]
    return total


@inlined
def back_up(
    batch: Batch,
    config: Config,
    state: LearnerState,
    plan: int,
    h: int,
    rows: NDArray[np.int32],
    count: int,
) -> None:
    """Compute the backups of some rows of a step and store them in `state.scratch.out`.

    The values of terminal states and forbidden actions are fixed and not computed.

    Parameters
    ----------
    batch : Batch
        Functions that compute the base's backup for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner, with counts, rewards and the values of step h + 1.
    plan : int
        Number of the plan, part of the key of random numbers.
    h : int
        Step.
    rows : NDArray
        Array whose first `count` entries are the rows to compute, each s * A + a.
    count : int
        Number of rows to compute.
    """
    counts, table, scratch = state.counts, state.table, state.scratch
    H, S = table.actions.shape
    pooled = counts.visits.shape[0] == 1
    visits = scratch.no_visits if h == H - 1 else counts.visits[0 if pooled else h + 1]
    first = 0 if pooled else h * table.q.shape[1]
    observed = count_steps(counts) if config.samples else 0
    call = BackupCall(
        constants=address(config.constants),
        constants_size=config.constants.size,
        h=h,
        horizon=H,
        states=S,
        actions=config.actions,
        v=address(table.v[h + 1]),
        visits=address(visits),
        top=table.top[h + 1],
        low=table.low[h + 1],
        order=address(table.order[h + 1]),
        seed=config.seed,
        plan=plan,
        observed=observed,
        n=address(counts.n),
        start=address(counts.start),
        size=address(counts.size),
        succ=address(counts.succ),
        m=address(counts.m),
        rewards=address(state.rewards[h]),
        first=first,
        rows=address(rows),
        row_count=count,
        out=address(scratch.out),
        term_slots=scratch.term_n.size,
        term_n=address(scratch.term_n),
        first_terms=address(scratch.terms[0]),
        second_terms=address(scratch.terms[1]),
        has_levels=scratch.levels.size > 0,
        levels=address(scratch.levels[h]),
        has_hints=scratch.hints.size > 0,
        hints=address(scratch.hints[h]),
        lanes=address(scratch.lanes),
        has_weights=scratch.weights.size > 0,
        weights=address(scratch.weights),
        totals=address(scratch.totals),
    )
    batch.rows(reference(call))
    if config.fixed.size > 0:
        replace_fixed(config.fixed, h, rows, count, scratch.out)


@kernel
def replace_fixed(
    fixed: Floats, h: int, rows: NDArray[np.int32], count: int, values: Floats
) -> None:
    """Replace the values of terminal states and forbidden actions by their fixed values.

    Parameters
    ----------
    fixed : Floats
        (H, S * A) fixed values, NaN where the value is computed. See `Shape.fixed_values`.
    h : int
        Step.
    rows : NDArray
        Array whose first `count` entries are the rows of the values, each s * A + a.
    count : int
        Number of values.
    values : Floats
        Values of the rows, changed in place.
    """
    for i in range(count):
        value = fixed[h, rows[i]]
        if not math.isnan(value):
            values[i] = value


@inlined
def is_terminal(fixed: Floats, h: int, s: int, A: int) -> bool:
    """Return whether an episode ends in a state.

    Parameters
    ----------
    fixed : Floats
        (H, S * A) fixed values, 0 for action 0 of a terminal state. Empty if the problem has no
        terminal states and no forbidden actions. See `Shape.fixed_values`.
    h, s : int
        Step and state.
    A : int
        Number of actions.

    Returns
    -------
    bool
        Whether the state is terminal.
    """
    return fixed.size > 0 and fixed[h, s * A] == 0.0


@kernel
def plan_all(batch: Batch, config: Config, state: LearnerState, plan: int) -> None:
    """Compute the whole table of a learner state, from the last step to the first.

    If `config.monotone`, no value becomes larger than it was in the previous plan.

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
    for h in range(H - 1, -1, -1):
        back_up(batch, config, state, plan, h, scratch.all_rows, S * A)
        for row in range(S * A):
            x = scratch.out[row]
            table.q[h, row] = min(x, table.q[h, row]) if config.monotone else x
        for s in range(S):
            best = first_best(table.q, h, s, A)
            table.v[h, s] = table.q[h, s * A + best]
            table.actions[h, s] = choose(config, table.q, plan, h, s, A, best)
        if config.reads == READS_ORDER:
            order_states(table, h)
        else:
            find_extremes(table, h)
