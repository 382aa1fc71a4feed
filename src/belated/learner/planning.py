"""Backward induction, shared by every base.

`sweep` computes the whole table from nothing: the obvious way, which faster ones must match to
the bit. Each value is one call of the base's backup, a pure function of what it reads.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import address, inlined, interpreted, kernel
from belated.episode import Floats, Shape
from belated.learner.backup import Batch, as_backup
from belated.learner.bases.base import Base, Kernel
from belated.learner.counts import Counts
from belated.randomness import TIES, uniform

TOLERANCE: Final = 1e-11
"""Values this close are tied when ties are broken at random."""

READS: Final = ("successors", "best", "extremes", "everything", "order")
BEST: Final = READS.index("best")
EVERYTHING: Final = READS.index("everything")
ORDER: Final = READS.index("order")


class Rules(NamedTuple):
    """What a compiled planner knows of a base beside its backup."""

    reads: int  # an index into READS
    reads_visits: bool
    monotone: bool
    random_ties: bool
    drawn: bool  # whether every plan is drawn anew


class Table(NamedTuple):
    """A plan: optimistic values, and the policy that is greedy for them."""

    q: NDArray[np.float64]  # (H, S * A)
    v: NDArray[np.float64]  # (H + 1, S); the last row is zero
    actions: NDArray[np.int32]  # (H, S)
    top: NDArray[np.float64]  # (H + 1) the largest v
    low: NDArray[np.float64]  # (H + 1) the smallest v
    order: NDArray[np.int32]  # (H + 1, S) states by v, largest first


class Ties(NamedTuple):
    """How equally good actions are told apart in one plan, and the address of what it draws."""

    random: bool
    seed: np.uint64
    plan: int  # the plan's number, from 0, plus the instance's number times 2**32


class Scratch(NamedTuple):
    """Working space of one planner; holds nothing between two plans but the last stamp."""

    rows: NDArray[np.int32]  # (S * A) rows of this stage to back up
    out: NDArray[np.float64]  # (S * A) and what they come to
    row_stamp: NDArray[np.int64]  # (S * A) the last visit that listed the row
    states: NDArray[np.int32]  # (S) states of this stage with a Q that moved
    state_stamp: NDArray[np.int64]  # (S)
    moved: NDArray[np.int32]  # (S) states of the stage before with a value that moved
    stamp: NDArray[np.int64]  # (1) counts the visits of a stage
    state_of: NDArray[np.int32]  # (S * A) the state of each row
    all_rows: NDArray[np.int32]  # (S * A) 0, 1, 2, ...
    nothing: NDArray[np.int64]  # (S) zeros: nobody visits a step after the last


def rules_of(base: Base, kernel: Kernel) -> Rules:
    """The rules of a base and its kernel."""
    return Rules(
        READS.index(kernel.reads),
        kernel.reads_visits,
        base.monotone and not kernel.drawn,  # a draw is no bound on the next
        base.ties == "random",
        kernel.drawn,
    )


def blank(shape: Shape) -> Table:
    """A table in which nothing has been planned yet."""
    H, S, A = shape.table
    return Table(
        q=np.full((H, S * A), np.inf),
        v=np.zeros((H + 1, S)),
        actions=np.zeros((H, S), np.int32),
        top=np.zeros(H + 1),
        low=np.zeros(H + 1),
        order=np.tile(np.arange(S, dtype=np.int32), (H + 1, 1)),
    )


def scratch(shape: Shape) -> Scratch:
    """Working space for a problem of this shape."""
    S, A = shape.states, shape.actions
    return Scratch(
        rows=np.zeros(S * A, np.int32),
        out=np.zeros(S * A),
        row_stamp=np.zeros(S * A, np.int64),
        states=np.zeros(S, np.int32),
        state_stamp=np.zeros(S, np.int64),
        moved=np.zeros(S, np.int32),
        stamp=np.zeros(1, np.int64),
        state_of=np.repeat(np.arange(S, dtype=np.int32), A),
        all_rows=np.arange(S * A, dtype=np.int32),
        nothing=np.zeros(S, np.int64),
    )


@inlined
def peak(q: Floats, h: int, s: int, A: int) -> int:
    """The lowest action with the largest Q."""
    best = 0
    for a in range(1, A):
        if q[h, s * A + a] > q[h, s * A + best]:
            best = a
    return best


@inlined
def choose(q: Floats, h: int, s: int, A: int, best: int, ties: Ties) -> int:
    """The greedy action at (h, s), of which `best` is the first."""
    if not ties.random:
        return best
    least = q[h, s * A + best] - TOLERANCE
    tied = 0
    for a in range(A):
        tied += q[h, s * A + a] >= least
    return draw_tie(q, h, s, A, least, tied, ties) if tied > 1 else best


@kernel
def draw_tie(q: Floats, h: int, s: int, A: int, least: float, tied: int, ties: Ties) -> int:
    """One of the `tied` actions worth at least `least`, by the address of (plan, h, s)."""
    skip = int(uniform(ties.seed, TIES, ties.plan, h * (q.shape[1] // A) + s) * tied)
    action = 0
    for a in range(A):
        if q[h, s * A + a] >= least:
            if skip == 0:
                action = a
            skip -= 1
    return action


@inlined
def after(v: Floats, h: int, x: int, y: int) -> bool:
    """Whether state x comes after y in the order of V~_h."""
    return v[h, x] < v[h, y] or (v[h, x] == v[h, y] and x > y)


@kernel
def order_states(table: Table, h: int) -> None:
    """Note the order of V~_h, and so its extremes.

    Equal values go by index, so there is one order only; it is close to the last one, for which
    insertion is quick.
    """
    for i in range(1, table.order.shape[1]):
        y = table.order[h, i]
        at = i
        while at > 0 and after(table.v, h, table.order[h, at - 1], y):
            table.order[h, at] = table.order[h, at - 1]
            at -= 1
        table.order[h, at] = y
    table.top[h] = table.v[h, table.order[h, 0]]
    table.low[h] = table.v[h, table.order[h, -1]]


@kernel
def find_extremes(table: Table, h: int) -> None:
    """Note the largest and the smallest V~_h."""
    top = low = table.v[h, 0]
    for s in range(1, table.v.shape[1]):
        top = max(top, table.v[h, s])
        low = min(low, table.v[h, s])
    table.top[h] = top
    table.low[h] = low


@inlined
def back_up(
    batch: Batch,
    constants: Floats,
    counts: Counts,
    rewards: Floats,
    table: Table,
    work: Scratch,
    h: int,
    ties: Ties,
    rows: NDArray[np.int32],
    listed: int,
) -> None:
    """work.out[i] = Q_h of rows[i], for the first `listed` rows."""
    H, S = table.actions.shape
    pooled = counts.visits.shape[0] == 1
    visits = work.nothing if h == H - 1 else counts.visits[0 if pooled else h + 1]
    batch(
        address(constants),
        constants.size,
        h,
        H,
        S,
        rows.size // S,
        address(table.v[h + 1]),
        address(visits),
        table.top[h + 1],
        table.low[h + 1],
        address(table.order[h + 1]),
        ties.seed,
        ties.plan,
        address(counts.n),
        address(counts.start),
        address(counts.size),
        address(counts.succ),
        address(counts.m),
        address(rewards[h]),
        0 if pooled else h * rows.size,
        address(rows),
        listed,
        address(work.out),
    )


@kernel
def sweep(
    batch: Batch,
    constants: Floats,
    rules: Rules,
    counts: Counts,
    rewards: Floats,
    ties: Ties,
    table: Table,
    work: Scratch,
) -> None:
    """Plan every stage from the last to the first; `rewards` is (H, S * A)."""
    H, S = table.actions.shape
    A = table.q.shape[1] // S
    for h in range(H - 1, -1, -1):
        back_up(batch, constants, counts, rewards, table, work, h, ties, work.all_rows, S * A)
        for row in range(S * A):
            x = work.out[row]
            table.q[h, row] = min(x, table.q[h, row]) if rules.monotone else x
        for s in range(S):
            best = peak(table.q, h, s, A)
            table.v[h, s] = table.q[h, s * A + best]
            table.actions[h, s] = choose(table.q, h, s, A, best, ties)
        if rules.reads == ORDER:
            order_states(table, h)
        else:
            find_extremes(table, h)


interpreted_sweep = interpreted(sweep, back_up)


def plan_all(
    base: Base,
    kernel: Kernel,
    counts: Counts,
    rewards: Floats,
    ties: Ties,
    table: Table,
    work: Scratch,
) -> None:
    """Fill `table`, compiled if the backup is, in Python if it is a plain function."""
    backup = as_backup(kernel.backup)
    run: Any = sweep if backup.compiled else interpreted_sweep
    rules = rules_of(base, kernel)
    flat = rewards.reshape(table.q.shape)
    run(backup.batch, kernel.constants, rules, counts, flat, ties, table, work)
