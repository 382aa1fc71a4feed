"""Planning only what changed, to the same bits as planning everything.

After feedback, a row must be backed up again if it was touched, or if it reads a value that
moved. Stages are visited from the last to the first; a value that comes out as it was stops the
wave there. What a row reads is what its base declares: its successors' values, the largest and
smallest value too, or all of them; and perhaps its successors' visit counts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import END, Buckets, put, take
from belated.compiled import compiled
from belated.episode import Floats, Shape
from belated.learner.backup import Backup
from belated.learner.counts import Counts
from belated.learner.planning import (
    BEST,
    EVERYTHING,
    Rules,
    Table,
    Ties,
    choose,
    order_states,
    peak,
    row_of,
    stage_of,
)


class Scratch(NamedTuple):
    """Working space of one planner; holds nothing between two plans but the last stamp."""

    rows: NDArray[np.int32]  # (S * A) rows of this stage to back up
    row_stamp: NDArray[np.int64]  # (S * A) the last visit that listed the row
    states: NDArray[np.int32]  # (S) states of this stage with a Q that moved
    state_stamp: NDArray[np.int64]  # (S)
    moved: NDArray[np.int32]  # (S) states of the stage before with a value that moved
    stamp: NDArray[np.int64]  # (1) counts the visits of a stage
    nothing: NDArray[np.int64]  # (S) zeros: nobody visits a step after the last


def scratch(shape: Shape) -> Scratch:
    """Working space for a problem of this shape."""
    S, SA = shape.states, shape.states * shape.actions
    return Scratch(
        rows=np.zeros(SA, np.int32),
        row_stamp=np.zeros(SA, np.int64),
        states=np.zeros(S, np.int32),
        state_stamp=np.zeros(S, np.int64),
        moved=np.zeros(S, np.int32),
        stamp=np.zeros(1, np.int64),
        nothing=np.zeros(S, np.int64),
    )


@compiled
def list_row(work: Scratch, row: int, listed: int) -> int:
    """List a row once; returns how many are listed."""
    if work.row_stamp[row] == work.stamp[0]:
        return listed
    work.row_stamp[row] = work.stamp[0]
    work.rows[listed] = row
    return listed + 1


@compiled
def list_readers(work: Scratch, counts: Counts, group: int, y: int, listed: int) -> int:
    """List the rows of stage `group` that have y among their successors."""
    first = group * work.rows.size
    link = counts.head[group, y]
    while link != END:
        listed = list_row(work, counts.link_row[link] - first, listed)
        link = counts.link_next[link]
    return listed


@compiled
def list_stale(
    work: Scratch,
    rules: Rules,
    counts: Counts,
    touched: Buckets,
    group: int,
    next_group: int,
    moved: int,
) -> int:
    """List what must be backed up at a stage whose extremes and order stand still."""
    first = group * work.rows.size
    listed = 0
    row = touched.head[group]
    while row != END:
        listed = list_row(work, row - first, listed)
        row = touched.after[row]
    for i in range(moved):
        listed = list_readers(work, counts, group, work.moved[i], listed)
    if rules.reads_visits and next_group != END:
        A = work.rows.size // work.states.size
        row = touched.head[next_group]
        while row != END:
            y = (row - next_group * work.rows.size) // A
            listed = list_readers(work, counts, group, y, listed)
            row = touched.after[row]
    return listed


@compiled
def replan(
    backup: Backup,
    constants: Floats,
    rules: Rules,
    counts: Counts,
    touched: Buckets,
    rewards: Floats,
    ties: Ties,
    table: Table,
    changed: Buckets,
    work: Scratch,
) -> None:
    """Bring `table` up to date with `counts`, given the rows touched since it was.

    `touched` holds rows by stage and is left as it was. The cells h * S + s whose action changes
    are put into `changed`, by step.
    """
    H, S, A = table.q.shape
    pooled = counts.visits.shape[0] == 1
    moved = 0
    shifted = False
    for h in range(H - 1, -1, -1):
        group = 0 if pooled else h
        next_group = END if h == H - 1 else (0 if pooled else h + 1)
        stage = stage_of(table, counts, work.nothing, h)
        work.stamp[0] += 1
        listed = S * A
        if not shifted:
            listed = list_stale(work, rules, counts, touched, group, next_group, moved)
        found = 0
        for i in range(listed):
            row = i if shifted else int(work.rows[i])
            s = row // A
            a = row - s * A
            x = backup(constants, stage, row_of(counts, group, s, a, rewards[h, s, a]))
            if rules.monotone:
                x = min(x, table.q[h, s, a])
            if x != table.q[h, s, a]:
                table.q[h, s, a] = x
                if work.state_stamp[s] != work.stamp[0]:
                    work.state_stamp[s] = work.stamp[0]
                    work.states[found] = s
                    found += 1
        # Every tie is drawn anew by every plan, so with random ties every state is looked at.
        for i in range(S if ties.random else found):
            s = i if ties.random else int(work.states[i])
            a = choose(table.q, h, s, ties)
            if a != table.actions[h, s]:
                table.actions[h, s] = a
                put(changed, h, h * S + s)
        moved = 0
        fell = rose = False
        for i in range(found):
            s = int(work.states[i])
            new = table.q[h, s, peak(table.q, h, s)]
            old = table.v[h, s]
            if new != old:
                fell = fell or old == table.top[h] or old == table.low[h]
                rose = rose or new > table.top[h] or new < table.low[h]
                table.v[h, s] = new
                work.moved[moved] = s
                moved += 1
        shifted = False
        if moved > 0 and rules.reads >= BEST:
            shifted = resurvey(table, h, rules, fell or rose)


@compiled
def resurvey(table: Table, h: int, rules: Rules, extremes: bool) -> bool:
    """Note what V~_h has become, and whether that moves every row of the stage before."""
    if rules.reads == EVERYTHING:
        order_states(table, h)
        return True
    if not extremes:
        return False
    top = table.v[h].max()
    low = table.v[h].min()
    shifted = top != table.top[h] or (rules.reads > BEST and low != table.low[h])
    table.top[h] = top
    table.low[h] = low
    return shifted


@compiled
def begin_epoch(counts: Counts, epoch: NDArray[np.int64], touched: Buckets) -> None:
    """Remember the counts that the plan was made of, and forget what was touched."""
    for group in range(touched.head.size):
        row = take(touched, group)
        while row != END:
            epoch[row] = counts.n[row]
            row = take(touched, group)
