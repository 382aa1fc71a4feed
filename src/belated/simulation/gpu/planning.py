"""Planning on the GPU: the rows of a step divided among all threads of a run.

`belated.learner.planning.rows.plan_rows` and `belated.exact.values.evaluate` do the same.
"""

import math
from typing import Any

import numpy as np

from belated.learner.backup import Row, Stage, mean, squares
from belated.learner.planning.greedy import TIE_TOLERANCE
from belated.randomness import TIES, uniform
from belated.simulation.gpu.compiler import phase, replace_on_gpu
from belated.simulation.gpu.phases import (
    INT,
    Array,
    Learner,
    Scratch,
    Sizes,
    U,
    World,
    is_allowed,
)
from belated.simulation.gpu.threads import LANES, barrier


@phase
def exact_q(sizes: Sizes, world: World, w_next: Array, h: int, s: Any, a: Any) -> float:
    """Return R_h(s, a) + <P_h(. | s, a), w_next>, the exact value of action `a` in state `s`.

    `h` is the step, and `w_next` holds the exact values of step h + 1. The result is bit-identical
    to that of `belated.exact.values.q_value`.
    """
    cell = U(s * U(sizes.A) + a)
    row = U(U(h) * U(sizes.S * sizes.A) + cell) if sizes.stage_dependent else cell
    total = 0.0
    j = U(world.ptr[row])
    end = U(world.ptr[row + U(1)])
    while j < end:
        total += world.prob[j] * w_next[world.succ[j]]
        j = U(j + U(1))
    return world.rewards[U(h if sizes.rewards_per_step else 0), cell] + total


@phase
def policy_value(
    sizes: Sizes, world: World, learner: Learner, epsilon: float, w_next: Array, h: int, s: Any
) -> float:
    """Return V^pi_h(s), the exact value of the current policy at step `h` in state `s`.

    `w_next` holds the exact values of step h + 1. `epsilon` is the probability that an action is
    drawn uniformly. The result is bit-identical to that of `belated.exact.values.cell_value`.
    """
    if sizes.stochastic:
        total = 0.0
        explored = 0
        if sizes.counts_visits:
            first = U(U(U(h if sizes.mask_per_step else 0) * U(sizes.S) + s) * U(sizes.A))
            for a in range(sizes.A):
                if learner.explore[U(first + U(a))] == 1:
                    total += exact_q(sizes, world, w_next, h, s, U(a))
                    explored += 1
            if explored > 0:
                return total / explored
        if epsilon > 0.0:
            for a in range(sizes.A):
                if is_allowed(sizes, world, h, U(s * U(sizes.A) + U(a))):
                    total += exact_q(sizes, world, w_next, h, s, U(a))
                    explored += 1
            action = U(learner.actions[U(U(h * sizes.S) + s)])
            greedy = exact_q(sizes, world, w_next, h, s, action)
            return (1.0 - epsilon) * greedy + epsilon * (total / explored)
    action = U(learner.actions[U(U(h * sizes.S) + s)])
    return exact_q(sizes, world, w_next, h, s, action)


@phase
def first_best(sizes: Sizes, q: Array, s: Any) -> int:
    """Return the action that maximizes Q_h(s, a) in state `s`; ties go to the lowest action.

    `q` holds the values of all rows of the step.
    """
    first = U(s * U(sizes.A))
    best = 0
    largest = q[first]
    for a in range(1, sizes.A):
        if q[U(first + U(a))] > largest:
            best = a
            largest = q[U(first + U(a))]
    return best


@phase
def choose_action(
    sizes: Sizes, q: Array, seed: np.uint64, plan: int, h: int, s: Any, best: int
) -> int:
    """Return the greedy action at step `h` in state `s`, like `learner.planning.greedy.break_tie`.

    `best` is the result of `first_best`. `seed` and `plan`, the number of the plan, are part of the
    key of the random number that breaks a tie.
    """
    first = U(s * U(sizes.A))
    if sizes.random_ties:
        limit = q[U(first + U(best))] - TIE_TOLERANCE
        tied = 0
        for a in range(sizes.A):
            if q[U(first + U(a))] >= limit:
                tied += 1
        if tied > 1:
            skip = int(uniform(seed, TIES, plan, h * sizes.S + INT(s)) * tied)
            for a in range(sizes.A):
                if q[U(first + U(a))] >= limit:
                    if skip == 0:
                        best = a
                    skip -= 1
    return best


@phase
def mean_next(stage: Stage, row: Row) -> float:
    """Return the mean next value of `row`, bit-identical to `belated.learner.backup.mean`."""
    total = 0.0
    j = U(row.lo)
    end = U(row.hi)
    while j < end:
        total += row.m[j] * stage.v[row.succ[j]]
        j = U(j + U(1))
    return total / row.n


@phase
def squares_next(stage: Stage, row: Row, centre: float) -> float:
    """Return the sum of the squared deviations of the next value of `row` from `centre`.

    The result is bit-identical to that of `belated.learner.backup.squares`.
    """
    total = 0.0
    j = U(row.lo)
    end = U(row.hi)
    while j < end:
        gap = stage.v[row.succ[j]] - centre
        total += row.m[j] * (gap * gap)
        j = U(j + U(1))
    return total


replace_on_gpu(mean, mean_next)
replace_on_gpu(squares, squares_next)


@phase
def survey_values(sizes: Sizes, scratch: Scratch, h: int, thread: int) -> None:
    """Compute the order of the states by V~_h, or the largest and the smallest V~_h.

    Only what the backup reads is computed. Each thread stores the largest and the smallest V~_h of
    its own states. All threads of the run call this function; `thread` is the number of the calling
    one.
    """
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
    """Return the largest and the smallest V~_h, after `survey_values` for step `h`.

    Both are 0 if h = H, or if the backup does not read them.
    """
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
    """Compute V~_h(s) and the greedy action at step `h`, for the states s of the calling thread.

    The states are divided among `threads` threads; `thread` is the number of the calling one.
    `seed` and `number`, the number of the plan, are part of the key of random numbers.
    """
    S, A = sizes.S, sizes.A
    s = U(thread)
    while s < U(S):
        best = first_best(sizes, scratch.q, s)
        scratch.v[U(h & 1), s] = scratch.q[U(U(s * U(A)) + U(best))]
        action = choose_action(sizes, scratch.q, seed, number, h, s, best)
        learner.actions[U(U(h * S) + s)] = action
        if sizes.visits:
            total = 0
            for a in range(A):
                total += learner.n[U(U(U(0 if sizes.pooled else h * S) + s) * U(A) + U(a))]
            scratch.visits[s] = total
        s = U(s + U(threads))


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
    """Compute the exact value of the policy at step `h`, for the states of the calling thread.

    The states are divided among `threads` threads; `thread` is the number of the calling one.
    `epsilon` is the probability that an action is drawn uniformly.
    """
    w_next = scratch.w[(h + 1) & 1]
    s = U(thread)
    while s < U(sizes.S):
        scratch.w[U(h & 1), s] = policy_value(sizes, world, learner, epsilon, w_next, h, s)
        s = U(s + U(threads))


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
    """Compute a plan and the value of its policy; see `belated.learner.planning.rows.plan_rows`.

    All threads of the run call this function; `thread` is the number of the calling one. `number`
    is the number of the plan, `seed` is the seed of the run, `epsilon` is the probability that an
    action is drawn uniformly, and `constants` are those of the backup.
    """
    S, A, H = sizes.S, sizes.A, sizes.H
    rows = S * A
    choosers = LANES * ((sizes.threads // LANES + 1) // 2)
    evaluators = sizes.threads - choosers if sizes.threads > LANES else LANES
    evaluator = thread - (sizes.threads - evaluators)
    steps = 0  # observed in the rows of this thread
    for row in range(thread, (1 if sizes.pooled else H) * rows, sizes.threads):
        learner.epoch_n[row] = learner.n[row]
        steps += learner.n[row]
    if sizes.observed:
        scratch.extremes[thread, 0] = steps
    for s in range(thread, S, sizes.threads):
        scratch.v[H & 1, s] = 0.0
        scratch.w[H & 1, s] = 0.0
        if sizes.order:
            scratch.order[s] = s
        if sizes.visits:
            scratch.visits[s] = 0
    barrier(sizes.threads)
    observed = 0
    if sizes.observed:
        for i in range(sizes.threads):
            observed += int(scratch.extremes[i, 0])
    for h in range(H - 1, -1, -1):
        # 1. Back up the rows of step h.
        top, low = largest_and_smallest(sizes, scratch, h + 1)
        stage = Stage(
            h,
            H,
            scratch.v[(h + 1) & 1],
            scratch.visits,
            top,
            low,
            scratch.order,
            seed,
            number,
            observed,
            scratch.v[0][:0],
        )
        row = U(thread)
        while row < U(rows):
            at = row if sizes.pooled else U(U(h * rows) + row)
            s = INT(U(row // U(A)))
            reward = world.known[U(h if sizes.known_per_step else 0), row]
            lo: Any = np.int32(at * U(sizes.capacity))  # loops over 32-bit numbers are faster
            hi: Any = np.int32(lo + learner.size[at])
            n = int(learner.n[at])
            a = INT(row) - s * A
            x = back_up(
                constants,
                stage,
                Row(s, a, n, reward, lo, hi, learner.succ, learner.m, INT(at)),
            )
            if sizes.restricted and not math.isnan(world.fixed[h, row]):
                x = world.fixed[h, row]
            if sizes.monotone:
                x = min(x, learner.q[U(U(h * rows) + row)])
                learner.q[U(U(h * rows) + row)] = x
            scratch.q[row] = x
            row = U(row + U(sizes.threads))
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
