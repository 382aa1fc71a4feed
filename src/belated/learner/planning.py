"""Backward induction, shared by every base.

`plan_all` computes the whole table from nothing: the obvious method, which incremental planning
must match to the bit. Each value is one call of the base's backup, a pure function of what it
reads.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from belated.compiled import address, inlined, kernel
from belated.episode import Floats
from belated.learner.backup import BackupCall, Batch
from belated.learner.state import READS_ORDER, Config, LearnerState, PlanTable
from belated.randomness import TIES, uniform

TIE_TOLERANCE: Final = 1e-11
"""Largest difference of values that are tied when ties are broken at random."""


@inlined
def first_best(q: Floats, h: int, s: int, A: int) -> int:
    """Return the lowest action with the largest Q.

    Parameters
    ----------
    q : Floats
        (H, S * A).
    h, s : int
        Step and state.
    A : int
        Number of actions.

    Returns
    -------
    int
        Action.
    """
    best = 0
    for a in range(1, A):
        if q[h, s * A + a] > q[h, s * A + best]:
            best = a
    return best


@inlined
def choose(config: Config, q: Floats, plan: int, h: int, s: int, A: int, best: int) -> int:
    """Return the greedy action, with ties broken as configured.

    Parameters
    ----------
    config : Config
        Tells how ties are broken.
    q : Floats
        (H, S * A).
    plan : int
        Number of the plan, which addresses random ties.
    h, s : int
        Step and state.
    A : int
        Number of actions.
    best : int
        `first_best` of this cell.

    Returns
    -------
    int
        Action.
    """
    if not config.random_ties:
        return best
    limit = q[h, s * A + best] - TIE_TOLERANCE
    tied = 0
    for a in range(A):
        tied += q[h, s * A + a] >= limit
    return draw_tied(config.seed, q, plan, h, s, A, limit, tied) if tied > 1 else best


@kernel
def draw_tied(
    seed: np.uint64, q: Floats, plan: int, h: int, s: int, A: int, limit: float, tied: int
) -> int:
    """Return one of several tied actions, drawn at the address (plan, h, s).

    Parameters
    ----------
    seed : int
        Seed of the learner.
    q : Floats
        (H, S * A).
    plan, h, s : int
        Number of the plan, step and state.
    A : int
        Number of actions.
    limit : float
        Smallest Q of a tied action.
    tied : int
        Number of tied actions.

    Returns
    -------
    int
        Action.
    """
    skip = int(uniform(seed, TIES, plan, h * (q.shape[1] // A) + s) * tied)
    action = 0
    for a in range(A):
        if q[h, s * A + a] >= limit:
            if skip == 0:
                action = a
            skip -= 1
    return action


@inlined
def follows(v: Floats, h: int, x: int, y: int) -> bool:
    """Return whether state `x` comes after `y` in the order of `v` at step `h`, largest first."""
    return v[h, x] < v[h, y] or (v[h, x] == v[h, y] and x > y)


@kernel
def order_states(table: PlanTable, h: int) -> None:
    """Update the order and the extremes of V~_h in `table` at step `h`.

    Equal values are ordered by index, so that the order is unique. It is close to the previous
    one, for which insertion sort is fast.
    """
    for i in range(1, table.order.shape[1]):
        y = table.order[h, i]
        at = i
        while at > 0 and follows(table.v, h, table.order[h, at - 1], y):
            table.order[h, at] = table.order[h, at - 1]
            at -= 1
        table.order[h, at] = y
    table.top[h] = table.v[h, table.order[h, 0]]
    table.low[h] = table.v[h, table.order[h, -1]]


@kernel
def find_extremes(table: PlanTable, h: int) -> None:
    """Update the largest and the smallest V~_h in `table` at step `h`."""
    top = low = table.v[h, 0]
    for s in range(1, table.v.shape[1]):
        top = max(top, table.v[h, s])
        low = min(low, table.v[h, s])
    table.top[h] = top
    table.low[h] = low


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
    """Store Q_h of some rows in `state.scratch.out`.

    Parameters
    ----------
    batch : Batch
        Backup of the base for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        Counts, rewards and the values of step h + 1.
    plan : int
        Number of the plan.
    h : int
        Step.
    rows : NDArray
        (S * A) rows s * A + a.
    count : int
        Number of rows to compute.
    """
    counts, table, scratch = state.counts, state.table, state.scratch
    H, S = table.actions.shape
    pooled = counts.visits.shape[0] == 1
    visits = scratch.no_visits if h == H - 1 else counts.visits[0 if pooled else h + 1]
    first = 0 if pooled else h * rows.size
    batch(
        BackupCall(
            constants=address(config.constants),
            constants_size=config.constants.size,
            h=h,
            horizon=H,
            states=S,
            actions=rows.size // S,
            v=address(table.v[h + 1]),
            visits=address(visits),
            top=table.top[h + 1],
            low=table.low[h + 1],
            order=address(table.order[h + 1]),
            seed=config.seed,
            plan=plan,
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
        )
    )


@kernel
def plan_all(batch: Batch, config: Config, state: LearnerState, plan: int) -> None:
    """Compute the table of a learner state from nothing, from the last step to the first.

    Parameters
    ----------
    batch : Batch
        Backup of the base for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        Its table is changed in place.
    plan : int
        Number of the plan.
    """
    table, scratch = state.table, state.scratch
    H, S = table.actions.shape
    A = table.q.shape[1] // S
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
