"""Planning only what changed, to the same bits as planning everything.

After feedback, a row must be backed up again if it was touched, or if it reads a value that
moved. Stages are visited from the last to the first; a value that comes out as it was stops the
wave there. What a row reads is what its base declares: its successors' values, the largest and
smallest value too, or all of them; and perhaps its successors' visit counts.
"""

import numpy as np
from numpy.typing import NDArray

from belated.buckets import END, Buckets, put, take
from belated.compiled import inlined, kernel
from belated.episode import Floats
from belated.learner.backup import Batch, as_backup
from belated.learner.bases.base import Base, Kernel
from belated.learner.counts import Counts
from belated.learner.planning import (
    BEST,
    EVERYTHING,
    ORDER,
    Rules,
    Scratch,
    Table,
    Ties,
    back_up,
    choose,
    find_extremes,
    order_states,
    peak,
    rules_of,
)
from belated.learner.rewards import Earnings


@inlined
def list_row(work: Scratch, row: int, listed: int) -> int:
    """List a row once; returns how many are listed."""
    if work.row_stamp[row] == work.stamp[0]:
        return listed
    work.row_stamp[row] = work.stamp[0]
    work.rows[listed] = row
    return listed + 1


@inlined
def list_readers(work: Scratch, counts: Counts, group: int, y: int, listed: int) -> int:
    """List the rows of stage `group` that have y among their successors."""
    first = group * work.rows.size
    link = counts.head[group, y]
    while link != END:
        listed = list_row(work, counts.link_row[link] - first, listed)
        link = counts.link_next[link]
    return listed


@inlined
def list_stale(
    work: Scratch, rules: Rules, counts: Counts, touched: Buckets, h: int, H: int, moved: int
) -> int:
    """List what must be backed up at a step whose extremes and order stand still."""
    pooled = counts.visits.shape[0] == 1
    group = 0 if pooled else h
    first = group * work.rows.size
    listed = 0
    row = touched.head[group]
    while row != END:
        listed = list_row(work, row - first, listed)
        row = touched.after[row]
    for i in range(moved):
        listed = list_readers(work, counts, group, work.moved[i], listed)
    if rules.reads_visits and h < H - 1:
        group_after = 0 if pooled else h + 1
        row = touched.head[group_after]
        while row != END:
            y = work.state_of[row - group_after * work.rows.size]
            listed = list_readers(work, counts, group, y, listed)
            row = touched.after[row]
    return listed


@kernel
def replan(
    batch: Batch,
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
    H, S = table.actions.shape
    A = table.q.shape[1] // S
    moved = 0
    shifted = False
    for h in range(H - 1, -1, -1):
        work.stamp[0] += 1
        if shifted:
            listed = S * A
            back_up(batch, constants, counts, rewards, table, work, h, ties, work.all_rows, listed)
        else:
            listed = list_stale(work, rules, counts, touched, h, H, moved)
            if listed > 0:
                back_up(batch, constants, counts, rewards, table, work, h, ties, work.rows, listed)
        found = 0
        for i in range(listed):
            row = i if shifted else int(work.rows[i])
            x = work.out[i]
            if x != table.q[h, row] and not (rules.monotone and x > table.q[h, row]):
                table.q[h, row] = x
                s = work.state_of[row]
                # rows of a whole stage come state by state
                if (found == 0 or work.states[found - 1] != s) and (
                    shifted or work.state_stamp[s] != work.stamp[0]
                ):
                    work.state_stamp[s] = work.stamp[0]
                    work.states[found] = s
                    found += 1
        moved = 0
        fell = rose = False
        for i in range(found):
            s = int(work.states[i])
            best = peak(table.q, h, s, A)
            if not ties.random and best != table.actions[h, s]:
                table.actions[h, s] = best
                put(changed, h, h * S + s)
            new = table.q[h, s * A + best]
            old = table.v[h, s]
            if new != old:
                fell = fell or old == table.top[h] or old == table.low[h]
                rose = rose or new > table.top[h] or new < table.low[h]
                table.v[h, s] = new
                work.moved[moved] = s
                moved += 1
        if ties.random:
            redraw(ties, table, h, changed)
        shifted = moved > 0 and rules.reads >= BEST and resurvey(table, h, rules, fell or rose)


@kernel
def redraw(ties: Ties, table: Table, h: int, changed: Buckets) -> None:
    """Every plan draws every tie anew, whether its values moved or not."""
    S = table.actions.shape[1]
    A = table.q.shape[1] // S
    for s in range(S):
        a = choose(table.q, h, s, A, peak(table.q, h, s, A), ties)
        if a != table.actions[h, s]:
            table.actions[h, s] = a
            put(changed, h, h * S + s)


@kernel
def resurvey(table: Table, h: int, rules: Rules, extremes: bool) -> bool:
    """Note what V~_h has become, and whether that moves every row of the stage before."""
    if rules.reads == ORDER:
        order_states(table, h)
    elif extremes:
        top, low = table.top[h], table.low[h]
        find_extremes(table, h)
        if rules.reads < EVERYTHING:
            return top != table.top[h] or (rules.reads > BEST and low != table.low[h])
    return rules.reads >= EVERYTHING


@kernel
def begin_epoch(counts: Counts, epoch: NDArray[np.int64], touched: Buckets) -> None:
    """Remember the counts that the plan was made of, and forget what was touched."""
    for group in range(touched.head.size):
        row = take(touched, group)
        while row != END:
            epoch[row] = counts.n[row]
            row = take(touched, group)


@kernel
def begin_reward_epoch(earned: Earnings, fresh: Buckets, epoch: NDArray[np.int64]) -> None:
    """The same where only rewards are late; `fresh` holds the rows with new ones, and stays."""
    for group in range(fresh.head.size):
        row = fresh.head[group]
        while row != END:
            epoch[row] = earned.n[row]
            row = fresh.after[row]


def plan_changes(
    base: Base,
    kernel: Kernel,
    counts: Counts,
    touched: Buckets,
    rewards: Floats,
    ties: Ties,
    table: Table,
    changed: Buckets,
    work: Scratch,
) -> None:
    """Bring `table` up to date; the backup must be compiled, or nothing is."""
    batch = as_backup(kernel.backup).batch
    rules = rules_of(base, kernel)
    flat = rewards.reshape(table.q.shape)
    replan(batch, kernel.constants, rules, counts, touched, flat, ties, table, changed, work)
