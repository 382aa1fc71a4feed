"""Planning on the GPU: the states of a step divided among all threads of a run.

`belated.learner.planning.rows.plan_rows` and `belated.exact.values.evaluate` do the same.
"""

import math
from typing import Any

import numpy as np

from belated.exact import values
from belated.exact.values import Model, PolicyArrays
from belated.learner.backup import Row, Stage
from belated.learner.exploration import Exploration
from belated.learner.planning import greedy
from belated.simulation.gpu.compiler import cuda, device, on_device
from belated.simulation.gpu.records import Array, Learner, Scratch, Sizes, World

break_tie = on_device(greedy.break_tie)
cell_value = on_device(values.cell_value)
find_extremes = on_device(greedy.find_extremes)
first_best = on_device(greedy.first_best)


def back_up(constants: Array, stage: Stage, row: Row) -> Any:
    """Raise TypeError: `bind` replaces this function by the backup of a base."""
    raise TypeError("fill_values needs a backup, see build_kernel.")


def fill_values(
    sizes: Sizes,
    world: World,
    learner: Learner,
    constants: Array,
    stage: Stage,
    q: Array,
    s: int,
) -> None:
    """Compute the values `q` of all actions in state `s` at the step of `stage`."""
    for a in range(sizes.A):
        cell = s * sizes.A + a
        number = cell if sizes.pooled else stage.h * sizes.S * sizes.A + cell
        lo = number * sizes.capacity
        reward = world.known[stage.h, cell]
        hi, n = lo + int(learner.size[number]), int(learner.n[number])
        row = Row(s, a, n, reward, lo, hi, learner.succ, learner.m, number)
        value = back_up(constants, stage, row)
        if not math.isnan(world.fixed[stage.h, cell]):
            value = world.fixed[stage.h, cell]
        q[cell] = min(value, q[cell]) if sizes.monotone else value


@device
def start_plan(sizes: Sizes, learner: Learner, scratch: Scratch) -> int:
    """Set the values after the last step to zero, and return the number of observed steps.

    The number is 0 unless the backup draws random numbers.
    """
    thread, H = cuda.threadIdx.x, sizes.H
    for row in range(thread, learner.n.size, sizes.threads):
        learner.epoch_n[row] = learner.n[row]
    for s in range(thread, sizes.S, sizes.threads):
        scratch.v[H & 1, s] = 0.0
        scratch.w[H & 1, s] = 0.0
        scratch.visits[H & 1, s] = 0
        scratch.order[s] = s
    cuda.syncthreads()
    observed = 0
    if sizes.samples:
        for row in range(learner.n.size):
            observed += int(learner.n[row])
    return observed


@device
def order_states(sizes: Sizes, v: Array, order: Array) -> None:
    """Store the states in `order`, by their values `v`, largest first."""
    for s in range(cuda.threadIdx.x, sizes.S, sizes.threads):
        rank = 0
        for y in range(sizes.S):
            if v[y] > v[s] or (v[y] == v[s] and y < s):
                rank += 1
        order[rank] = s
    cuda.syncthreads()


@device
def count_state(sizes: Sizes, learner: Learner, h: int, s: int) -> int:
    """Return the number of observed visits of state `s` at step `h`."""
    first = ((0 if sizes.pooled else h) * sizes.S + s) * sizes.A
    total = 0
    for row in range(first, first + sizes.A):
        total += int(learner.n[row])
    return total


def plan(
    sizes: Sizes,
    world: World,
    learner: Learner,
    scratch: Scratch,
    rule: Exploration,
    constants: Array,
    seed: np.uint64,
    number: int,
) -> None:
    """Compute a plan and the value of its policy. All threads of the run call this function.

    `rule` is the exploration rule, and `constants` are those of the backup. `seed` is the seed of
    the run, and `number` is the number of the plan.
    """
    S, A, H = sizes.S, sizes.A, sizes.H
    observed = start_plan(sizes, learner, scratch)
    model = Model(world.ptr, world.succ, world.prob, world.rewards)
    explore = rule.explore if sizes.stochastic else rule.explore[:0]
    policy = PolicyArrays(learner.actions, explore, rule.epsilon, world.allowed)
    for h in range(H - 1, -1, -1):
        v, v_next = scratch.v[h & 1], scratch.v[(h + 1) & 1]
        w, w_next = scratch.w[h & 1], scratch.w[(h + 1) & 1]
        top, low = find_extremes(v_next) if sizes.extremes else (0.0, 0.0)
        visits = scratch.visits[(h + 1) & 1]
        stage = Stage(
            h, H, v_next, visits, top, low, scratch.order, seed, number, observed, v_next[:0]
        )
        q = learner.q[h if sizes.monotone else 0]
        for s in range(cuda.threadIdx.x, S, sizes.threads):
            fill_values(sizes, world, learner, constants, stage, q, s)
            best = first_best(q, s * A, A)
            v[s] = q[s * A + best]
            if sizes.random_ties:
                best = break_tie(q, s * A, A, best, seed, number, h * S + s)
            learner.actions[h, s] = best
            w[s] = cell_value(model, policy, w_next, h, s)
            if sizes.visits:
                scratch.visits[h & 1, s] = count_state(sizes, learner, h, s)
        cuda.syncthreads()
        if sizes.order:
            order_states(sizes, v, scratch.order)
