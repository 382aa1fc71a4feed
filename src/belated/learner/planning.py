"""Backward induction, shared by every base.

`sweep` computes the whole table from nothing: the obvious way, which faster ones must match to
the bit. Each value is one call of the base's backup, a pure function of what it reads.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import compiled, interpreted
from belated.episode import Floats, Shape
from belated.learner.backup import Backup, Row, Stage, is_compiled
from belated.learner.bases.base import Base, Kernel
from belated.learner.counts import Counts
from belated.randomness import TIES, uniform

TOLERANCE: Final = 1e-11
"""Values this close are tied when ties are broken at random."""

SUCCESSORS: Final = 0
BEST: Final = 1
EXTREMES: Final = 2
EVERYTHING: Final = 3
READS: Final = ("successors", "best", "extremes", "everything")


class Rules(NamedTuple):
    """What a compiled planner knows of a base beside its backup."""

    reads: int  # an index into READS
    reads_visits: bool
    monotone: bool
    random_ties: bool


class Table(NamedTuple):
    """A plan: optimistic values, and the policy that is greedy for them."""

    q: NDArray[np.float64]  # (H, S, A)
    v: NDArray[np.float64]  # (H + 1, S); the last row is zero
    actions: NDArray[np.int32]  # (H, S)
    top: NDArray[np.float64]  # (H + 1) the largest v
    low: NDArray[np.float64]  # (H + 1) the smallest v
    order: NDArray[np.int32]  # (H + 1, S) states by v, largest first


class Ties(NamedTuple):
    """How equally good actions are told apart in one plan."""

    random: bool
    seed: np.uint64
    plan: int  # the plan's number, from 0, plus the instance's number times 2**32


def rules_of(base: Base, kernel: Kernel) -> Rules:
    """The rules of a base and its kernel."""
    return Rules(
        READS.index(kernel.reads), kernel.reads_visits, base.monotone, base.ties == "random"
    )


def blank(shape: Shape) -> Table:
    """A table in which nothing has been planned yet."""
    H, S, A = shape.table
    return Table(
        q=np.full((H, S, A), np.inf),
        v=np.zeros((H + 1, S)),
        actions=np.zeros((H, S), np.int32),
        top=np.zeros(H + 1),
        low=np.zeros(H + 1),
        order=np.tile(np.arange(S, dtype=np.int32), (H + 1, 1)),
    )


@compiled
def peak(q: Floats, h: int, s: int) -> int:
    """The lowest action with the largest Q."""
    best = 0
    for a in range(1, q.shape[2]):
        if q[h, s, a] > q[h, s, best]:
            best = a
    return best


@compiled
def choose(q: Floats, h: int, s: int, ties: Ties) -> int:
    """The greedy action at (h, s)."""
    best = peak(q, h, s)
    if not ties.random:
        return best
    least = q[h, s, best] - TOLERANCE
    tied = 0
    for a in range(q.shape[2]):
        if q[h, s, a] >= least:
            tied += 1
    if tied == 1:
        return best
    skip = int(uniform(ties.seed, TIES, ties.plan, h * q.shape[1] + s) * tied)
    for a in range(q.shape[2]):
        if q[h, s, a] >= least:
            if skip == 0:
                return a
            skip -= 1
    return best


@compiled
def order_states(table: Table, h: int) -> None:
    """Note the order of V~_h, and so its extremes."""
    table.order[h] = np.argsort(-table.v[h], kind="mergesort")
    table.top[h] = table.v[h, table.order[h, 0]]
    table.low[h] = table.v[h, table.order[h, -1]]


@compiled
def stage_of(table: Table, counts: Counts, nothing: NDArray[np.int64], h: int) -> Stage:
    """What a backup at step h may read of step h + 1; `nothing` is the visits after the last."""
    H = table.q.shape[0]
    group = 0 if counts.visits.shape[0] == 1 else h + 1
    visits = nothing if h == H - 1 else counts.visits[group]
    return Stage(
        h, H, table.v[h + 1], visits, table.top[h + 1], table.low[h + 1], table.order[h + 1]
    )


@compiled
def row_of(counts: Counts, group: int, s: int, a: int, reward: float) -> Row:
    """What has been observed of (s, a) in stage `group` of the counts."""
    A = counts.n.size // counts.visits.size
    i = (group * counts.visits.shape[1] + s) * A + a
    lo = counts.start[i]
    return Row(s, a, counts.n[i], reward, lo, lo + counts.size[i], counts.succ, counts.m)


@compiled
def sweep(
    backup: Backup,
    constants: Floats,
    rules: Rules,
    counts: Counts,
    rewards: Floats,
    ties: Ties,
    table: Table,
) -> None:
    """Plan every stage from the last to the first."""
    H, S, A = table.q.shape
    nothing = np.zeros(S, np.int64)
    for h in range(H - 1, -1, -1):
        group = 0 if counts.visits.shape[0] == 1 else h
        stage = stage_of(table, counts, nothing, h)
        for s in range(S):
            for a in range(A):
                x = backup(constants, stage, row_of(counts, group, s, a, rewards[h, s, a]))
                table.q[h, s, a] = min(x, table.q[h, s, a]) if rules.monotone else x
            table.actions[h, s] = choose(table.q, h, s, ties)
            table.v[h, s] = table.q[h, s, peak(table.q, h, s)]
        if rules.reads == EVERYTHING:
            order_states(table, h)
        else:
            table.top[h] = table.v[h].max()
            table.low[h] = table.v[h].min()


def plan_table(
    base: Base, kernel: Kernel, counts: Counts, rewards: Floats, ties: Ties, table: Table
) -> None:
    """Fill `table`, compiled if the backup is, in Python if it is a plain function."""
    run: Any = sweep if is_compiled(kernel.backup) else interpreted(sweep)
    run(kernel.backup, kernel.constants, rules_of(base, kernel), counts, rewards, ties, table)
