"""Planning on the GPU: the rows of a step divided among all threads of a run.

See `belated.learner.planning.plan_all` and `belated.exact.values.evaluate`, which do the same.
"""

import math
from typing import Any

import numpy as np

from belated.exact.values import q_value
from belated.learner.backup import Row, Stage
from belated.learner.planning import TIE_TOLERANCE
from belated.randomness import TIES, uniform
from belated.simulation.gpu.compiler import phase
from belated.simulation.gpu.phases import Array, Learner, Scratch, Sizes, World, is_allowed
from belated.simulation.gpu.threads import LANES, barrier


@phase
def policy_value(
    sizes: Sizes,
    world: World,
    learner: Learner,
    epsilon: float,
    w_next: Array,
    h: int,
    s: int,
    action: int,
) -> float:
    """Return V^pi_h(s); see `belated.exact.values.cell_value`."""
    ptr, succ, prob, rewards = world.ptr, world.succ, world.prob, world.rewards
    if sizes.stochastic:
        total = 0.0
        explored = 0
        if sizes.counts_visits:
            first = ((h if sizes.mask_per_step else 0) * sizes.S + s) * sizes.A
            for a in range(sizes.A):
                if learner.explore[first + a] == 1:
                    total += q_value(ptr, succ, prob, rewards, w_next, h, s, a)
                    explored += 1
            if explored > 0:
                return total / explored
        if epsilon > 0.0:
            for a in range(sizes.A):
                if is_allowed(sizes, world, h, s * sizes.A + a):
                    total += q_value(ptr, succ, prob, rewards, w_next, h, s, a)
                    explored += 1
            greedy = q_value(ptr, succ, prob, rewards, w_next, h, s, action)
            return (1.0 - epsilon) * greedy + epsilon * (total / explored)
    return q_value(ptr, succ, prob, rewards, w_next, h, s, action)


@phase
def first_best(sizes: Sizes, q: Array, s: int) -> int:
    """Return the action that maximizes Q_h(s, a); ties go to the lowest action."""
    first = s * sizes.A
    best = 0
    for a in range(1, sizes.A):
        if q[first + a] > q[first + best]:
            best = a
    return best


@phase
def choose_action(
    sizes: Sizes, q: Array, seed: np.uint64, plan: int, h: int, s: int, best: int
) -> int:
    """Return the greedy action; see `belated.learner.planning.choose`."""
    first = s * sizes.A
    if sizes.random_ties:
        limit = q[first + best] - TIE_TOLERANCE
        tied = 0
        for a in range(sizes.A):
            if q[first + a] >= limit:
                tied += 1
        if tied > 1:
            skip = int(uniform(seed, TIES, plan, h * sizes.S + s) * tied)
            for a in range(sizes.A):
                if q[first + a] >= limit:
                    if skip == 0:
                        best = a
                    skip -= 1
    return best


@phase
def survey_values(sizes: Sizes, scratch: Scratch, h: int, thread: int) -> None:
    """Compute the order and the extremes of V~_h, as far as the backup reads them."""
    v = scratch.v[h & 1]
    if sizes.order:
        for s in range(thread, sizes.S, sizes.threads):
            rank = 0
            for y in range(sizes.S):
                if v[y] > v[s] or (v[y] == v[s] and y < s):
                    rank += 1
            scratch.order[rank] = s
        barrier(sizes.threads)
    elif sizes.extremes:
        if thread < sizes.S:
            top = low = v[thread]
            for s in range(thread + sizes.threads, sizes.S, sizes.threads):
                top = max(top, v[s])
                low = min(low, v[s])
            scratch.extremes[thread, 0] = top
            scratch.extremes[thread, 1] = low
        barrier(sizes.threads)


@phase
def largest_and_smallest(sizes: Sizes, scratch: Scratch, h: int) -> tuple[float, float]:
    """Return the largest and the smallest V~_h; both 0 if the backup does not read them."""
    if h == sizes.H:
        return 0.0, 0.0
    if sizes.order:
        v = scratch.v[h & 1]
        return v[scratch.order[0]], v[scratch.order[sizes.S - 1]]
    top = low = 0.0
    if sizes.extremes:
        top, low = scratch.extremes[0, 0], scratch.extremes[0, 1]
        for i in range(1, min(sizes.threads, sizes.S)):
            top = max(top, scratch.extremes[i, 0])
            low = min(low, scratch.extremes[i, 1])
    return top, low


@phase
def choose_step(
    sizes: Sizes,
    learner: Learner,
    scratch: Scratch,
    seed: np.uint64,
    number: int,
    h: int,
    thread: int,
    threads: int,
) -> None:
    """Choose the greedy actions of step `h` by thread number `thread` of `threads`."""
    S, A = sizes.S, sizes.A
    for s in range(thread, S, threads):
        best = first_best(sizes, scratch.q, s)
        scratch.v[h & 1, s] = scratch.q[s * A + best]
        action = choose_action(sizes, scratch.q, seed, number, h, s, best)
        learner.actions[h * S + s] = action
        if sizes.visits:
            total = 0
            for a in range(A):
                total += learner.n[((0 if sizes.pooled else h) * S + s) * A + a]
            scratch.visits[s] = total


@phase
def evaluate_step(
    sizes: Sizes,
    world: World,
    learner: Learner,
    scratch: Scratch,
    epsilon: float,
    h: int,
    thread: int,
    threads: int,
) -> None:
    """Compute the exact value of the policy at step `h` by thread number `thread` of `threads`."""
    w_next = scratch.w[(h + 1) & 1]
    for s in range(thread, sizes.S, threads):
        action = int(learner.actions[h * sizes.S + s])
        value = policy_value(sizes, world, learner, epsilon, w_next, h, s, action)
        scratch.w[h & 1, s] = value


def back_up(constants: Array, stage: Stage, row: Row) -> float:
    """Raise TypeError: this function is a placeholder that a kernel replaces by a backup."""
    raise TypeError("plan needs a backup, see build_kernel.")


@phase
def plan(
    constants: Array,
    sizes: Sizes,
    world: World,
    learner: Learner,
    scratch: Scratch,
    seed: np.uint64,
    number: int,
    epsilon: float,
    thread: int,
) -> None:
    """Compute a plan and the exact value of its policy; see `belated.learner.planning.plan_all`."""
    S, A, H = sizes.S, sizes.A, sizes.H
    rows = S * A
    choosers = LANES * ((sizes.threads // LANES + 1) // 2)
    evaluators = sizes.threads - choosers if sizes.threads > LANES else LANES
    evaluator = thread - (sizes.threads - evaluators)
    for row in range(thread, (1 if sizes.pooled else H) * rows, sizes.threads):
        learner.epoch_n[row] = learner.n[row]
    for s in range(thread, S, sizes.threads):
        scratch.v[H & 1, s] = 0.0
        scratch.w[H & 1, s] = 0.0
        if sizes.order:
            scratch.order[s] = s
        if sizes.visits:
            scratch.visits[s] = 0
    barrier(sizes.threads)
    for h in range(H - 1, -1, -1):
        # 1. Back up the rows of step h.
        top, low = largest_and_smallest(sizes, scratch, h + 1)
        stage = Stage(
            h, H, scratch.v[(h + 1) & 1], scratch.visits, top, low, scratch.order, seed, number
        )
        for row in range(thread, rows, sizes.threads):
            at = row if sizes.pooled else h * rows + row
            s = row // A
            reward = world.known[h if sizes.known_per_step else 0, row]
            lo: Any = np.int32(at * sizes.capacity)  # loops over 32-bit numbers are faster
            hi: Any = np.int32(lo + learner.size[at])
            n = int(learner.n[at])
            x = back_up(
                constants,
                stage,
                Row(s, row - s * A, n, reward, lo, hi, learner.succ, learner.m, at),
            )
            if sizes.restricted and not math.isnan(world.fixed[h, row]):
                x = world.fixed[h, row]
            if sizes.monotone:
                x = min(x, learner.q[h * rows + row])
                learner.q[h * rows + row] = x
            scratch.q[row] = x
        barrier(sizes.threads)
        # 2. Choose the actions of step h and evaluate those of step h + 1, each by its own threads.
        if thread < choosers:
            choose_step(sizes, learner, scratch, seed, number, h, thread, choosers)
        if h < H - 1 and thread >= sizes.threads - evaluators:
            evaluate_step(sizes, world, learner, scratch, epsilon, h + 1, evaluator, evaluators)
        barrier(sizes.threads)
        # 3. Survey the values of step h for the backups of step h - 1.
        survey_values(sizes, scratch, h, thread)
    if thread >= sizes.threads - evaluators:
        evaluate_step(sizes, world, learner, scratch, epsilon, 0, evaluator, evaluators)
    barrier(sizes.threads)
