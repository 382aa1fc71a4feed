"""The phases of an episode on the GPU except planning. One block of threads plays one run.

Each phase does what the compiled engine (`belated.simulation.engine`) does, with the same functions
and the same order of floating-point operations. A thread handles every `sizes.threads`-th row, step
or state. No sum is divided among threads, so that the number of threads does not affect the
results.

All threads of a run call each function, unless it says otherwise. The argument `sizes` is a
constant in each kernel.
"""

from typing import Any

import numpy as np

from belated.learner import exploration
from belated.learner.exploration import Exploration
from belated.learner.updaters import lazy
from belated.mdp import model
from belated.randomness import START, TRANSITION
from belated.randomness import uniform as uniform_of_cpu
from belated.simulation.gpu.compiler import cuda, device, on_device
from belated.simulation.gpu.records import (
    ALPHA,
    LAST_EXPLORED,
    MAX_MISSING,
    MISSING,
    NEXT_POINT,
    OPTIMISM_BROKEN,
    SLOT_COUNT,
    SLOTS,
    TOTAL,
    WAITED,
    Array,
    Learner,
    Runs,
    Scratch,
    Sizes,
    World,
)
from belated.simulation.reference import OPTIMISM_TOLERANCE

draw = on_device(model.draw)
draw_action = on_device(exploration.draw_action)
explores = on_device(exploration.explores)
has_grown = on_device(lazy.has_grown)
is_available = on_device(exploration.is_available)
is_rare = on_device(exploration.is_rare)
row_of = on_device(model.row_of)
uniform = on_device(uniform_of_cpu)


@device
def count_row(sizes: Sizes, h: int, s: int, a: int) -> int:
    """Return the row of the counts for action `a` in state `s` at step `h`."""
    return ((0 if sizes.pooled else h) * sizes.S + s) * sizes.A + a


@device
def find_successor(sizes: Sizes, learner: Learner, row: int, y: int) -> int:
    """Return the index in `learner.succ` of successor `y` of `row`; -1 if it is not observed."""
    first = row * sizes.capacity
    for j in range(first, first + learner.size[row]):
        if learner.succ[j] == y:
            return j
    return -1


@device
def insert_successor(sizes: Sizes, learner: Learner, row: int, y: int) -> int:
    """Insert the new successor `y` of `row` with count 0, and return its index in `learner.succ`.

    The successors of the row remain in increasing order. One thread calls this function.
    """
    first = row * sizes.capacity
    at = first + learner.size[row]
    while at > first and learner.succ[at - 1] > y:
        learner.succ[at] = learner.succ[at - 1]
        learner.m[at] = learner.m[at - 1]
        at -= 1
    learner.succ[at] = y
    learner.m[at] = 0
    learner.size[row] += 1
    return at


@device
def deliver(
    sizes: Sizes, world: World, learner: Learner, scratch: Scratch, path: Array, alpha: float
) -> bool:
    """Add the feedback of one episode to the counts, and return whether a plan is due.

    The steps are divided among the threads. The result refers to the steps of the calling thread
    only; a plan is due if it is True for any thread. Counts are integers, so the order of the
    additions does not matter, and the last addition to a row sees its final count.

    `path` holds the states and actions of the episode. `alpha` is the parameter of lazy updating.
    """
    thread, H = cuda.threadIdx.x, sizes.H
    due = False
    missing = 0
    for h in range(thread, H, sizes.threads):
        s, a, y = int(path[h]), int(path[H + 1 + h]), int(path[h + 1])
        if world.terminal[s]:
            continue
        row = count_row(sizes, h, s, a)
        n = cuda.atomic.add(learner.n, row, 1) + 1
        if has_grown(n, learner.epoch_n[row], alpha):
            due = True
        if sizes.counts_visits:
            cuda.atomic.add(learner.visits, (0 if sizes.visits_pooled else h, s, a), 1)
        at = find_successor(sizes, learner, row, y)
        if at >= 0:
            cuda.atomic.add(learner.m, at, 1)
        else:
            scratch.insert[h] = 1
            missing = 1
    # New successors are rare. One thread inserts them, since they shift others of their row.
    if cuda.syncthreads_or(missing) != 0:
        if thread == 0:
            for h in range(H):
                if scratch.insert[h] == 1:
                    scratch.insert[h] = 0
                    row = count_row(sizes, h, int(path[h]), int(path[H + 1 + h]))
                    y = int(path[h + 1])
                    at = find_successor(sizes, learner, row, y)
                    if at < 0:
                        at = insert_successor(sizes, learner, row, y)
                    learner.m[at] += 1
        cuda.syncthreads()
    return due


@device
def mark_actions(sizes: Sizes, world: World, rule: Exploration) -> None:
    """Update the mask of actions to explore; see `belated.learner.exploration.count_visit`.

    The mask is a function of the visits, so that it need not be updated after every visit.
    """
    for cell in range(cuda.threadIdx.x, sizes.H * sizes.S, sizes.threads):
        h = cell // sizes.S
        s = cell - h * sizes.S
        stage = 0 if sizes.visits_pooled else h
        below = not world.terminal[s] and is_rare(rule, world.fixed, h, s)
        for a in range(sizes.A):
            mark = below and (not rule.rare_only or rule.visits[stage, s, a] < rule.threshold)
            mark = mark and is_available(world.fixed, h, s * sizes.A + a)
            rule.explore[h, s, a] = mark
    cuda.syncthreads()


@device
def receive(
    sizes: Sizes, world: World, runs: Runs, learner: Learner, scratch: Scratch, k: int
) -> tuple[bool, bool]:
    """Deliver the feedback that arrives before episode `k`.

    Return whether any has arrived, and whether a plan is due because of it.
    """
    run = cuda.blockIdx.x
    arrived = runs.arriving[runs.ints[run, SLOTS] + k % runs.ints[run, SLOT_COUNT]]
    if arrived < 0:
        return False, False
    grown = 0
    while arrived >= 0:
        if deliver(sizes, world, learner, scratch, runs.paths[arrived], runs.floats[run, ALPHA]):
            grown = 1
        if cuda.threadIdx.x == 0:
            runs.ints[run, MISSING] -= 1
        arrived = runs.after[arrived]
    return True, cuda.syncthreads_or(grown) != 0


@device
def draw_uniforms(sizes: Sizes, scratch: Scratch, seed: np.uint64, k: int) -> None:
    """Draw the random numbers of the transitions of episode `k`, and store them in `scratch`.

    `seed` is the seed of the run.
    """
    H = sizes.H
    for h in range(cuda.threadIdx.x, H + 1, sizes.threads):
        scratch.u[h] = uniform(seed, TRANSITION if h < H else START, k, h if h < H else 0)
    cuda.syncthreads()


@device
def play(
    sizes: Sizes,
    world: World,
    runs: Runs,
    learner: Learner,
    rule: Exploration,
    scratch: Scratch,
    path: Array,
    k: int,
) -> int:
    """Play episode `k` in one thread, store it in `path`, and return its first state.

    `rule` is the exploration rule, and `scratch.u` holds the random numbers.
    """
    run = cuda.blockIdx.x
    H = sizes.H
    start = draw(world.start_cum, 0, sizes.S, scratch.u[H])
    s = start
    path[0] = s
    for h in range(H):
        a = 0
        if not world.terminal[s]:
            a = int(learner.actions[h, s])
            if sizes.stochastic:
                if explores(rule, h, s):
                    runs.ints[run, LAST_EXPLORED] = k
                a = draw_action(rule, world.fixed, h, s, a, runs.seeds[run], k)
            row = row_of(world.ptr, world.rewards, h, s, a)
            at = draw(world.cum, world.ptr[row], world.ptr[row + 1], scratch.u[h])
            s = int(world.succ[at])
        path[H + 1 + h] = a
        path[h + 1] = s
    return start


@device
def record(world: World, runs: Runs, scratch: Scratch, start: int, k: int) -> None:
    """Add the exact regret of episode `k`, which began in state `start`, in one thread."""
    ints, floats = runs.ints[cuda.blockIdx.x], runs.floats[cuda.blockIdx.x]
    ints[MAX_MISSING] = max(ints[MAX_MISSING], ints[MISSING])
    ints[WAITED] += ints[MISSING]
    floats[TOTAL] += world.v_star[start] - scratch.w[0, start]
    if scratch.v[0, start] < world.v_star[start] - OPTIMISM_TOLERANCE:
        ints[OPTIMISM_BROKEN] += 1
    point = ints[NEXT_POINT]
    if runs.points[point] == k:
        runs.regret[point] = floats[TOTAL]
        ints[NEXT_POINT] = point + 1


@device
def send(
    sizes: Sizes, world: World, runs: Runs, path: Array, k: int, arrival: Any, last: Any
) -> None:
    """Send the feedback of episode `k` in one thread.

    It arrives after episode `arrival`. If this is the `last` episode or later, its steps are
    counted in `runs.dropped`. `path` holds the states and actions of the episode.
    """
    run = cuda.blockIdx.x
    first, count = runs.ints[run, SLOTS], runs.ints[run, SLOT_COUNT]
    slot = first + k % count
    runs.arriving[slot] = -1
    runs.ints[run, MISSING] += 1
    if arrival < last:
        at = first + (arrival + 1) % count
        runs.after[slot] = runs.arriving[at]
        runs.arriving[at] = slot
    else:
        for h in range(sizes.H):
            if not world.terminal[int(path[h])]:
                row = count_row(sizes, h, int(path[h]), int(path[sizes.H + 1 + h]))
                runs.dropped[run, row] += 1
