"""One run in compiled code: the reference loop, bit for bit, with no Python inside.

`advance` plays a stretch of episodes on a state of plain arrays. Callers choose how long a
stretch is, which changes nothing but how often they hear back.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import Buckets, buckets, clear, put
from belated.compiled import inlined, kernel
from belated.episode import Floats, Ints
from belated.exact.incremental import World, reevaluate
from belated.exact.values import evaluate
from belated.learner import stepwise
from belated.learner.backup import Batch
from belated.learner.bases.base import Base
from belated.learner.counts import Counts, add, empty, has_room
from belated.learner.incremental import begin_epoch, begin_reward_epoch, replan
from belated.learner.planning import Rules, Scratch, Table, Ties, blank, scratch, sweep
from belated.learner.problem import Problem
from belated.learner.rewards import Earnings, Hope, earn, earnings, reconsider
from belated.learner.stepwise import Inbox, Memory, learn, post
from belated.learner.updaters.lazy import has_grown
from belated.mdp.model import mean_reward
from belated.mdp.play import draw, draw_reward
from belated.randomness import REWARD, START, TRANSITION, uniform
from belated.simulation.exploring import Exploring, drawn, explores, note
from belated.simulation.reference import ROUNDING
from belated.simulation.ring import Ring, due, free_slot, full, pop, push, ring
from belated.theory import alpha_for

INCREMENTAL: Final = 0
FULL: Final = 1
NONE: Final = 2
PLANNING: Final = ("incremental", "full", "none")


class Scheme(NamedTuple):
    """What is fixed before a run, beside the world and the base."""

    planning: int  # an index into PLANNING
    seed: np.uint64
    instance: int
    last: int  # the last episode of the run: what comes back after it is dropped
    hope: Hope  # how rewards are guessed
    unknown: bool  # whether they have to be
    late_rewards: bool  # whether only they are late
    stepwise: bool  # whether the base learns step by step
    restless: bool  # whether every episode has a plan of its own
    auto: bool  # whether each epoch chooses its alpha


class Mind(NamedTuple):
    """What the learner holds beside its counts, and the exact value of what it plays."""

    epoch: NDArray[np.int64]
    touched: Buckets
    rewards: Floats  # (H, S * A) known, or hoped for
    earned: Earnings
    fresh: Buckets  # rows with rewards that are not in `rewards` yet
    table: Table
    changed: Buckets
    work: Scratch
    box: Inbox
    kept: Memory
    alpha: Floats  # (1) of the lazy trigger; inf is active
    terms: Floats  # of `alpha_for`
    v_pi: Floats  # (H + 1, S)
    tally: NDArray[np.int64]  # see below
    lost: NDArray[np.int64]  # (rows) visits whose feedback is dropped
    left: NDArray[np.int32]  # (episodes) parcels that have not come, if there are several
    states: Ints  # (H + 1) the path being played
    actions: Ints  # (H)
    paid: Floats  # (H)


PLANS: Final = 0
MISSING: Final = 1
MAX_MISSING: Final = 2
BROKEN: Final = 3
LAST_EXPLORED: Final = 4
PLAN_DUE: Final = 5  # feedback has come that asks for a plan, which is still to be made
WAITED: Final = 6  # the sum of S_k
BEGUN: Final = 7
TALLIES: Final = 8


def fresh(
    problem: Problem, *, alpha: float, terms: Floats, parcels: int, episodes: int
) -> tuple[Counts, Mind, Ring]:
    """Counts, mind and ring of a learner that has seen nothing and planned nothing."""
    shape, stages, rows = problem.shape, problem.count_stages, problem.rows
    assert isinstance(problem.base, Base)
    H, S = shape.horizon, shape.states
    unknown, steps = problem.rewards is None, problem.base.stepwise
    table = blank(shape)
    if steps:
        stepwise.begin(shape, problem.kernel.constants, table)
    mind = Mind(
        epoch=np.zeros(rows, np.int64),
        touched=buckets(stages, items=rows),
        rewards=problem.first_rewards(),
        earned=earnings(rows if unknown else 0),
        fresh=buckets(stages, items=rows if unknown else 0),
        table=table,
        changed=buckets(H, items=H * S),
        work=scratch(shape),
        box=stepwise.inbox(H if steps else 0),
        kept=stepwise.memory(rows if steps else 0),
        alpha=np.array([alpha]),
        terms=terms,
        v_pi=np.zeros((H + 1, S)),
        tally=np.zeros(TALLIES, np.int64),
        lost=np.zeros(rows, np.int64),
        left=np.full(episodes if parcels > 1 else 0, parcels, np.int32),
        states=np.zeros(H + 1, np.int64),
        actions=np.zeros(H, np.int64),
        paid=np.zeros(H),
    )
    return empty(shape, stages), mind, ring(H // parcels, rewards=unknown)


@kernel
def think(
    batch: Batch,
    constants: Floats,
    rules: Rules,
    scheme: Scheme,
    world: World,
    counts: Counts,
    mind: Mind,
    exploring: Exploring,
    refresh: bool,
) -> None:
    """Plan, and value the new policy exactly; guess rewards anew if it is time for that."""
    number = mind.tally[PLANS]
    ties = Ties(rules.random_ties, scheme.seed, number + (scheme.instance << 32))
    table = mind.table
    if scheme.late_rewards and refresh:
        begin_reward_epoch(mind.earned, mind.fresh, mind.epoch)
    if scheme.unknown and refresh:
        reconsider(scheme.hope, mind.earned, mind.fresh, ties.plan, mind.rewards, mind.touched)
    partly = scheme.stepwise
    if scheme.stepwise:
        learn(constants, mind.box, mind.kept, ties, table, mind.changed)
    elif scheme.planning == INCREMENTAL and not rules.drawn and number > 0:
        partly = True
        replan(
            batch,
            constants,
            rules,
            counts,
            mind.touched,
            mind.rewards,
            ties,
            table,
            mind.changed,
            mind.work,
        )
    else:
        sweep(batch, constants, rules, counts, mind.rewards, ties, table, mind.work)
    explore, epsilon = exploring.explore, exploring.epsilon
    if partly and number > 0:
        moved = mind.work.moved
        reevaluate(world, table.actions, explore, epsilon, mind.changed, mind.v_pi, moved)
    else:
        evaluate(
            world.ptr,
            world.succ,
            world.prob,
            world.rewards,
            table.actions,
            explore,
            epsilon,
            mind.v_pi,
        )
        clear(mind.changed)
    if scheme.late_rewards:
        clear(mind.touched)
    else:
        begin_epoch(counts, mind.epoch, mind.touched)
    mind.tally[PLANS] += 1
    if scheme.auto and refresh:
        begun = mind.tally[BEGUN]
        waited = mind.tally[WAITED]
        mind.alpha[0] = alpha_for(mind.terms, waited / begun if begun > 0 else 0.0)


@inlined
def note_path(counts: Counts, mind: Mind, pooled: bool) -> None:
    """Count the transitions of the episode just played, for which there must be room."""
    H, S = mind.table.actions.shape
    A = mind.table.q.shape[1] // S
    for h in range(H):
        group = 0 if pooled else h
        s = mind.states[h]
        row = (group * S + s) * A + mind.actions[h]
        add(counts, row, group, s, mind.states[h + 1], 1)
        put(mind.touched, group, row)


@inlined
def send(
    scheme: Scheme, mind: Mind, flying: Ring, pooled: bool, k: int, parcel: int, delay: int
) -> None:
    """Send off a parcel of the episode just played, or give it up if it would come too late."""
    H, S = mind.table.actions.shape
    A = mind.table.q.shape[1] // S
    steps = flying.actions.shape[1]
    first = parcel * steps
    if k + delay >= scheme.last:
        for h in range(first, first + steps):
            row = ((0 if pooled else h) * S + mind.states[h]) * A + mind.actions[h]
            mind.lost[row] += 1
        return
    slot = free_slot(flying)
    for j in range(steps):
        flying.states[slot, j] = mind.states[first + j]
        flying.actions[slot, j] = mind.actions[first + j]
        if scheme.unknown:
            flying.rewards[slot, j] = mind.paid[first + j]
    flying.states[slot, steps] = mind.states[first + steps]
    push(flying, k if steps == H else k * H + parcel, k + delay)


@kernel
def receive(scheme: Scheme, counts: Counts, mind: Mind, exploring: Exploring, flying: Ring) -> None:
    """Take in the parcel that is due first, for which there must be room."""
    H, S = mind.table.actions.shape
    A = mind.table.q.shape[1] // S
    pooled = counts.visits.shape[0] == 1
    steps = flying.actions.shape[1]
    number = flying.number[0]
    slot = pop(flying)
    first = 0 if steps == H else number % H
    tally = mind.tally
    for j in range(steps):
        h = first + j
        s = int(flying.states[slot, j])
        a = int(flying.actions[slot, j])
        y = int(flying.states[slot, j + 1])
        group = 0 if pooled else h
        row = (group * S + s) * A + a
        if not scheme.late_rewards:
            add(counts, row, group, s, y, 1)
            put(mind.touched, group, row)
        if scheme.unknown:
            earn(mind.earned, row, flying.rewards[slot, j])
            put(mind.fresh, group, row)
        n = mind.earned.n[row] if scheme.late_rewards else counts.n[row]
        if has_grown(n, mind.epoch[row], mind.alpha[0]):
            tally[PLAN_DUE] = 1
        if exploring.seen.size > 0:
            note(exploring, h, s, a, mind.changed)
        if scheme.stepwise:
            known = mind.rewards[h, s * A + a]
            post(mind.box, row, y, flying.rewards[slot, j] if scheme.unknown else known)
    if steps == H:
        tally[MISSING] -= 1
    else:
        episode = number // H
        mind.left[episode - 1] -= 1
        if mind.left[episode - 1] == 0:
            tally[MISSING] -= 1


@kernel
def advance(
    batch: Batch,
    constants: Floats,
    rules: Rules,
    scheme: Scheme,
    world: World,
    v_star: Floats,
    counts: Counts,
    mind: Mind,
    exploring: Exploring,
    flying: Ring,
    first: int,
    labels: Ints,
    delays: Ints,
    gaps: Floats,
    alphas: Floats,
    trace: NDArray[np.int32],
) -> int:
    """Play episodes first, first + 1, ..., one for each row of delays, which has one for each
    parcel; gaps[i] becomes the regret of one.

    `labels` address the randomness: an episode's number in the whole run. `alphas` and `trace`,
    if not empty, take the alpha and the policy of each. Returns how many were played: fewer than
    asked when the counts, the inbox or the ring must grow before the next.
    """
    H, S = mind.table.actions.shape
    A = mind.table.q.shape[1] // S
    pooled = counts.visits.shape[0] == 1
    homogeneous = world.ptr.size - 1 == S * A
    tally, table = mind.tally, mind.table
    exploratory = exploring.explore.size > 0
    parcels = delays.shape[1]
    for i in range(delays.shape[0]):
        k = first + i
        if full(flying, parcels) or (scheme.late_rewards and not has_room(counts, H)):
            return i
        while due(flying, k):
            if not scheme.late_rewards and not has_room(counts, H):
                return i
            if scheme.stepwise and mind.box.used[0] + H > mind.box.row.size:
                return i
            receive(scheme, counts, mind, exploring, flying)
        told = scheme.late_rewards and not scheme.stepwise
        if k > 1 and (tally[PLAN_DUE] or told or scheme.restless) and scheme.planning != NONE:
            refresh = tally[PLAN_DUE] == 1 or scheme.restless
            think(batch, constants, rules, scheme, world, counts, mind, exploring, refresh)
        tally[PLAN_DUE] = 0
        tally[MAX_MISSING] = max(tally[MAX_MISSING], tally[MISSING])
        tally[WAITED] += tally[MISSING]
        tally[BEGUN] += 1

        label = labels[i]
        s = draw(world.start_cum, 0, S, uniform(scheme.seed, START, label, 0))
        gaps[i] = v_star[s] - mind.v_pi[0, s]
        if table.v[0, s] < v_star[s] - ROUNDING:
            tally[BROKEN] += 1
        mind.states[0] = s
        for h in range(H):
            a = int(table.actions[h, s])
            if exploratory:
                if explores(exploring, h, s):
                    tally[LAST_EXPLORED] = label
                a = drawn(exploring, h, s, a, scheme.seed, label)
            if scheme.unknown:
                u = uniform(scheme.seed, REWARD, label, h)
                mind.paid[h] = draw_reward(world.draws, mean_reward(world.rewards, h, s, a), u)
            row = ((0 if homogeneous else h) * S + s) * A + a
            u = uniform(scheme.seed, TRANSITION, label, h)
            s = int(world.succ[draw(world.cum, world.ptr[row], world.ptr[row + 1], u)])
            mind.actions[h] = a
            mind.states[h + 1] = s
        if trace.size > 0:
            for h in range(H):
                for state in range(S):
                    drawn_here = exploratory and explores(exploring, h, state)
                    trace[i, h, state] = -1 if drawn_here else table.actions[h, state]
        if alphas.size > 0:
            alphas[i] = mind.alpha[0]
        if scheme.late_rewards and k < scheme.last:
            note_path(counts, mind, pooled)
        for parcel in range(parcels):
            send(scheme, mind, flying, pooled, k, parcel, delays[i, parcel])
        tally[MISSING] += 1
    return delays.shape[0]
