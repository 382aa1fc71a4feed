"""One run in compiled code: the reference loop, bit for bit, with no Python inside.

`advance` plays a stretch of episodes on a state of plain arrays. Callers choose how long a
stretch is, which changes nothing but how often they hear back.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import Buckets, buckets, put
from belated.compiled import kernel
from belated.episode import Floats, Ints
from belated.exact.incremental import World, reevaluate
from belated.exact.values import evaluate
from belated.learner.backup import Batch
from belated.learner.counts import Counts, add, empty, has_room
from belated.learner.incremental import begin_epoch, replan
from belated.learner.planning import Rules, Scratch, Table, Ties, blank, scratch, sweep
from belated.learner.problem import Problem
from belated.learner.updaters.lazy import has_grown
from belated.mdp.play import draw
from belated.randomness import START, TRANSITION, uniform
from belated.simulation.exploring import Exploring, drawn, explores, note
from belated.simulation.reference import ROUNDING
from belated.simulation.ring import Ring, due, free_slot, full, pop, push, ring

INCREMENTAL: Final = 0
FULL: Final = 1
NONE: Final = 2
PLANNING: Final = ("incremental", "full", "none")


class Scheme(NamedTuple):
    """What is fixed before a run, beside the world and the base."""

    planning: int  # an index into PLANNING
    alpha: float  # of the lazy trigger; inf is active
    seed: np.uint64
    instance: int
    last: int  # the last episode of the run: what comes back after it is dropped


class Mind(NamedTuple):
    """What the learner holds beside its counts, and the exact value of what it plays."""

    epoch: NDArray[np.int64]
    touched: Buckets
    table: Table
    changed: Buckets
    work: Scratch
    v_pi: Floats  # (H + 1, S)
    tally: NDArray[np.int64]  # see below


PLANS: Final = 0
MISSING: Final = 1
MAX_MISSING: Final = 2
BROKEN: Final = 3
LAST_EXPLORED: Final = 4
PLAN_DUE: Final = 5  # feedback has come that asks for a plan, which is still to be made
TALLIES: Final = 6


def fresh(problem: Problem) -> tuple[Counts, Mind, Ring]:
    """Counts, mind and ring of a learner that has seen nothing and planned nothing."""
    shape, stages = problem.shape, problem.count_stages
    counts = empty(shape, stages)
    mind = Mind(
        epoch=np.zeros_like(counts.n),
        touched=buckets(stages, items=counts.n.size),
        table=blank(shape),
        changed=buckets(shape.horizon, items=shape.horizon * shape.states),
        work=scratch(shape),
        v_pi=np.zeros((shape.horizon + 1, shape.states)),
        tally=np.zeros(TALLIES, np.int64),
    )
    return counts, mind, ring(shape)


@kernel
def think(
    batch: Batch,
    constants: Floats,
    rules: Rules,
    scheme: Scheme,
    world: World,
    rewards: Floats,
    counts: Counts,
    mind: Mind,
    exploring: Exploring,
) -> None:
    """Plan, and value the new policy exactly."""
    number = mind.tally[PLANS]
    ties = Ties(rules.random_ties, scheme.seed, number + (scheme.instance << 32))
    table = mind.table
    if scheme.planning == INCREMENTAL and number > 0:
        replan(
            batch,
            constants,
            rules,
            counts,
            mind.touched,
            rewards,
            ties,
            table,
            mind.changed,
            mind.work,
        )
        reevaluate(
            world, table.actions, exploring.explore, mind.changed, mind.v_pi, mind.work.moved
        )
    else:
        sweep(batch, constants, rules, counts, rewards, ties, table, mind.work)
        evaluate(
            world.ptr,
            world.succ,
            world.prob,
            world.rewards,
            table.actions,
            exploring.explore,
            mind.v_pi,
        )
    begin_epoch(counts, mind.epoch, mind.touched)
    mind.tally[PLANS] += 1


@kernel
def advance(
    batch: Batch,
    constants: Floats,
    rules: Rules,
    scheme: Scheme,
    world: World,
    v_star: Floats,
    rewards: Floats,
    counts: Counts,
    mind: Mind,
    exploring: Exploring,
    flying: Ring,
    first: int,
    labels: Ints,
    delays: Ints,
    gaps: Floats,
    trace: NDArray[np.int32],
) -> int:
    """Play episodes first, first + 1, ..., one for each delay; gaps[i] becomes the regret of one.

    `labels` address the randomness: an episode's number in the whole run. `trace`, if not empty,
    takes the policies. Returns how many were played: fewer than asked when the counts or the
    ring must grow before the next.
    """
    H, S = mind.table.actions.shape
    A = mind.table.q.shape[1] // S
    pooled = counts.visits.shape[0] == 1
    homogeneous = world.ptr.size - 1 == S * A
    tally, table = mind.tally, mind.table
    exploratory = exploring.explore.size > 0
    for i in range(delays.size):
        k = first + i
        if full(flying):
            return i
        while due(flying, k):
            if not has_room(counts, H):
                return i
            slot = pop(flying)
            plan = False
            for h in range(H):
                s = int(flying.states[slot, h])
                a = int(flying.actions[slot, h])
                group = 0 if pooled else h
                row = (group * S + s) * A + a
                add(counts, row, group, s, int(flying.states[slot, h + 1]), 1)
                put(mind.touched, group, row)
                plan = plan or has_grown(counts.n[row], mind.epoch[row], scheme.alpha)
                if exploratory:
                    note(exploring, h, s, a, mind.changed)
            tally[MISSING] -= 1
            if plan:
                tally[PLAN_DUE] = 1
        if tally[PLAN_DUE] and scheme.planning != NONE:
            think(batch, constants, rules, scheme, world, rewards, counts, mind, exploring)
        tally[PLAN_DUE] = 0
        tally[MAX_MISSING] = max(tally[MAX_MISSING], tally[MISSING])

        slot = free_slot(flying)
        label = labels[i]
        s = draw(world.start_cum, 0, S, uniform(scheme.seed, START, label, 0))
        gaps[i] = v_star[s] - mind.v_pi[0, s]
        if table.v[0, s] < v_star[s] - ROUNDING:
            tally[BROKEN] += 1
        flying.states[slot, 0] = s
        for h in range(H):
            a = int(table.actions[h, s])
            if exploratory and explores(exploring, h, s):
                a = drawn(exploring, h, s, scheme.seed, label)
                tally[LAST_EXPLORED] = label
            row = ((0 if homogeneous else h) * S + s) * A + a
            u = uniform(scheme.seed, TRANSITION, label, h)
            s = int(world.succ[draw(world.cum, world.ptr[row], world.ptr[row + 1], u)])
            flying.actions[slot, h] = a
            flying.states[slot, h + 1] = s
        if trace.size > 0:
            for h in range(H):
                for state in range(S):
                    drawn_here = exploratory and explores(exploring, h, state)
                    trace[i, h, state] = -1 if drawn_here else table.actions[h, state]
        if k + delays[i] < scheme.last:
            push(flying, k, k + delays[i])
        tally[MISSING] += 1
    return delays.size
