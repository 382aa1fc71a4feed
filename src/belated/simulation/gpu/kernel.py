"""The kernel of the GPU engine: each block of threads plays a slice of the episodes of one run.

Planning divides the states of a step among all threads of a run. It does the same as
`belated.learner.planning.rows.plan_rows` and `belated.exact.values.evaluate`.
"""

import math
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from belated.compiled import bind
from belated.exact import values
from belated.exact.values import Model, PolicyArrays
from belated.learner.backup import Row, Stage
from belated.learner.exploration import Exploration
from belated.learner.planning import greedy
from belated.simulation.gpu.compiler import compile_kernel, cuda, device, on_device
from belated.simulation.gpu.episode import (
    draw_uniforms,
    mark_actions,
    play,
    receive,
    record,
    send,
)
from belated.simulation.gpu.records import (
    DELAYS,
    EPISODES,
    EPSILON,
    PLANS,
    PLAYED,
    SETTING,
    SLOT_COUNT,
    SLOTS,
    THRESHOLD,
    Array,
    Learner,
    Runs,
    Scratch,
    Sizes,
    World,
)

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


SIZES: Final = Sizes._make([1] * len(Sizes._fields))
"""Constants of the kernel. `bind` replaces this value."""

S: Final = 1
H: Final = 1
DRAWS: Final = 1
"""Numbers of states, of steps, and of random numbers of an episode, as constants of their own: the
size of a shared array cannot be computed. `bind` replaces these values."""


class Kind(NamedTuple):
    """Properties that determine the code of a kernel; runs of one kind share a kernel."""

    sizes: Sizes
    backup: Any  # function


def allocate() -> Scratch:
    """Return the working memory of the run."""
    return Scratch(
        cuda.shared.array((2, S), np.float64),
        cuda.shared.array((2, S), np.float64),
        cuda.shared.array((2, S), np.int32),
        cuda.shared.array(S, np.int32),
        cuda.shared.array(DRAWS, np.float64),
        cuda.shared.array(H, np.int8),
    )


@device
def learner_of(learners: Learner, run: int) -> Learner:
    """Return the state of the learner of one `run`."""
    return Learner(
        learners.n[run],
        learners.epoch_n[run],
        learners.size[run],
        learners.succ[run],
        learners.m[run],
        learners.actions[run],
        learners.q[run],
        learners.first[run],
        learners.visits[run],
        learners.explore[run],
    )


def run_slice(share: float, world: World, runs: Runs, learners: Learner) -> None:
    """Play the next slice of each run, a `share` of its episodes, with one block for each run."""
    run, thread = cuda.blockIdx.x, cuda.threadIdx.x
    ints, floats = runs.ints[run], runs.floats[run]
    episodes, played = ints[EPISODES], ints[PLAYED]
    if played >= episodes:
        return
    seed, plans, epsilon = runs.seeds[run], ints[PLANS], floats[EPSILON]
    learner = learner_of(learners, run)
    scratch = allocate()
    rule = Exploration(
        learner.visits,
        learner.explore,
        floats[THRESHOLD],
        SIZES.by_state,
        SIZES.rare_only,
        epsilon,
    )
    for s in range(thread, SIZES.S, SIZES.threads):
        scratch.v[0, s], scratch.w[0, s] = learner.first[0, s], learner.first[1, s]
    for h in range(thread, SIZES.H, SIZES.threads):
        scratch.insert[h] = 0
    cuda.syncthreads()
    end = min(episodes, played + 1 + int(share * episodes))
    for k in range(played + 1, end + 1):
        # 1. Deliver the feedback that arrives before this episode.
        has_arrived, due = receive(SIZES, world, runs, learner, scratch, k)
        if SIZES.counts_visits and (has_arrived or k == 1):
            mark_actions(SIZES, world, rule)
        # 2. Plan if a plan is due, and evaluate the new policy.
        if due or k == 1 or SIZES.every_episode:
            constants = runs.constants[ints[SETTING]]
            plan(SIZES, world, learner, scratch, rule, constants, seed, plans)
            plans += 1
        # 3. Play, add the exact regret for the first state drawn, and send the feedback.
        draw_uniforms(SIZES, scratch, seed, k)
        if thread == 0:
            path = runs.paths[ints[SLOTS] + k % ints[SLOT_COUNT]]
            start = play(SIZES, world, runs, learner, rule, scratch, path, k)
            record(world, runs, scratch, start, k)
            arrival = k + runs.delays[ints[DELAYS] + k - 1]
            send(SIZES, world, runs, path, k, arrival, episodes)
        cuda.syncthreads()
    for s in range(thread, SIZES.S, SIZES.threads):
        learner.first[0, s], learner.first[1, s] = scratch.v[0, s], scratch.w[0, s]
    if thread == 0:
        ints[PLAYED], ints[PLANS] = end, plans


@cache
def build_kernel(kind: Kind) -> Any:
    """Return the kernel for runs of this `kind`, which is compiled at its first launch."""
    sizes = kind.sizes
    fill = device(bind(fill_values, back_up=on_device(kind.backup)))
    names = {
        "SIZES": sizes,
        "allocate": device(bind(allocate, S=sizes.S, H=sizes.H, DRAWS=sizes.H + 1)),
        "plan": device(bind(plan, fill_values=fill)),
    }
    return compile_kernel(bind(run_slice, **names))
