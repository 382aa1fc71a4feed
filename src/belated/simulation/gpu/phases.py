"""The phases of an episode on the GPU except planning. One block of threads plays one run.

Each phase does what the compiled engine (`belated.simulation.engine`) does, with the same functions
and the same order of floating-point operations. Threads of the block share the work: a thread
handles every `sizes.threads`-th row or state. No sum is divided among threads, so that the number
of threads does not affect the results. The first warp delivers feedback and plays.

A phase is compiled into a kernel by `belated.simulation.gpu.kernel`. The argument `sizes` is a
constant in each kernel, so that the compiler removes the branches that the kernel does not need.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.learner.exploration import draw_allowed
from belated.learner.updaters.lazy import has_grown
from belated.mdp.play import draw
from belated.randomness import EXPLORE, START, TRANSITION, uniform
from belated.simulation.gpu.compiler import cuda, phase, replace_on_gpu
from belated.simulation.gpu.threads import LANES, any_in_warp, barrier, warp_barrier

Array = NDArray[Any]

U: Any = np.uint32
"""Type of array indices in kernels. It is unsigned, because the compiler adds code for negative
numbers to the access with a signed index."""

INT: Any = np.int64
"""Type to which an index of type `U` is converted before other functions compute with it. The
compiler would turn the sum of an unsigned and a signed number into a float."""


class Sizes(NamedTuple):
    """Constants of a kernel: sizes of the problem, and parts of the algorithm that it needs."""

    S: int  # states
    A: int  # actions
    H: int  # steps
    capacity: int  # largest number of successors of a row of the counts
    threads: int  # threads per run
    pooled: bool  # whether counts are pooled over the steps
    stage_dependent: bool  # whether transitions depend on the step
    rewards_per_step: bool  # whether rewards depend on the step
    known_per_step: bool  # whether the rewards that the learner knows depend on the step
    restricted: bool  # whether there are terminal states or forbidden actions
    random_ties: bool  # whether ties are broken at random
    monotone: bool  # whether no Q may become larger than in the previous plan
    extremes: bool  # whether the backup reads the largest or smallest next value
    order: bool  # whether the backup reads the order of the states
    visits: bool  # whether the backup reads the visits of the next states
    observed: bool  # whether the backup reads the number of observed steps
    stochastic: bool  # whether the policy draws actions at random
    counts_visits: bool  # whether the exploration rule counts visits
    visits_pooled: bool  # whether it counts them over all steps
    mask_per_step: bool  # whether its mask of actions depends on the step
    by_state: bool  # this field and the next: see Exploration
    rare_only: bool


class World(NamedTuple):
    """Arrays of the simulated world; see `WorldArrays`."""

    ptr: Array
    succ: Array
    prob: Array
    cum: Array
    rewards: Array  # (1 or H, S * A)
    known: Array  # (1 or H, S * A) rewards that the learner knows
    start_cum: Array
    v_star: Array  # (S) V*_1
    fixed: Array  # (H, S * A) values that are not computed, else NaN; see Shape.fixed_values


class Learner(NamedTuple):
    """State of the learner of one run, in shared or in global memory."""

    n: Array  # (rows) N'
    epoch_n: Array  # (rows) N' at the last plan
    size: Array  # (rows) number of distinct successors observed
    succ: Array  # (rows * capacity) successors observed, in increasing order in each row
    m: Array  # (rows * capacity) M'
    actions: Array  # (H * S) policy
    visits: Array  # (1 or H, S, A), flat: visits that the exploration rule counts
    explore: Array  # (1 or H, S, A), flat: mask of actions to explore
    q: Array  # (H * S * A) values of the last plan if they are monotone


class Scratch(NamedTuple):
    """Working memory of one run."""

    v: Array  # (2, S) V~ of two consecutive steps; step h is in row h & 1
    w: Array  # (2, S) exact value of the policy, likewise
    q: Array  # (S * A) Q of one step
    order: Array  # (S) states by V~ of the next step, largest first
    visits: Array  # (S) visits of the states of the next step
    extremes: Array  # (threads, 2) largest and smallest V~ among the states of each thread; before
    # the first step of a plan, the number of observed steps in the rows of each thread
    u: Array  # (H + 1) random numbers of the steps, and of the first state
    u_explore: Array  # (H) random numbers of exploration
    insert: Array  # (H) whether the successor of a step has not been observed before


@phase
def is_allowed(sizes: Sizes, world: World, h: int, cell: int) -> bool:
    """Return whether action a may be chosen in state s at step `h`; `cell` is s * A + a."""
    return not sizes.restricted or world.fixed[h, cell] != -math.inf


@phase
def is_over(sizes: Sizes, world: World, h: int, s: int) -> bool:
    """Return whether an episode that is in state `s` at step `h` is over: `s` is terminal."""
    return sizes.restricted and world.fixed[U(h), U(U(s) * U(sizes.A))] == 0.0


@phase
def find_successor(sizes: Sizes, learner: Learner, row: int, y: int) -> int:
    """Return the index in `learner.succ` of successor `y` of `row`; -1 if it is not observed."""
    j = U(U(row) * U(sizes.capacity))
    end = U(j + U(learner.size[row]))
    while j < end:
        if learner.succ[j] == y:
            return INT(j)
        j = U(j + U(1))
    return -1


@phase
def insert_successor(sizes: Sizes, learner: Learner, row: int, y: int) -> int:
    """Insert the new successor `y` of `row` with count 0, and return its index in `learner.succ`.

    The successors of the row remain in increasing order.
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


@phase
def deliver(
    sizes: Sizes,
    world: World,
    learner: Learner,
    scratch: Scratch,
    path: Array,
    alpha: float,
    thread: int,
) -> bool:
    """Add the feedback of one episode to the counts, and return whether a plan is due.

    All threads of the first warp must call this function, each with its number `thread`. The steps
    are divided among them. The result refers to the steps of the calling thread only; a plan is due
    if it is True for any thread. Counts are integers, so the order of the additions does not
    matter, and the last addition to a row sees its final count.

    `path` holds the H + 1 states and H actions of the episode. `alpha` is the parameter of lazy
    updating.
    """
    S, A, H = sizes.S, sizes.A, sizes.H
    due = False
    missing = 0
    for h in range(thread, H, LANES):
        s = U(path[U(h)])
        a = U(path[U(H + 1 + h)])
        y = int(path[U(h + 1)])
        if is_over(sizes, world, h, s):  # padding after a terminal state
            continue
        row = U(U(U(0 if sizes.pooled else h) * U(S) + s) * U(A) + a)
        n = cuda.atomic.add(learner.n, row, 1) + 1
        if has_grown(n, learner.epoch_n[row], alpha):
            due = True
        if sizes.counts_visits:
            cell = U(U(U(0 if sizes.visits_pooled else h) * U(S) + s) * U(A) + a)
            cuda.atomic.add(learner.visits, cell, 1)
        at = find_successor(sizes, learner, row, y)
        if at >= 0:
            cuda.atomic.add(learner.m, at, 1)
        else:
            scratch.insert[h] = 1
            missing = 1
    # New successors are rare. One thread inserts them, since they shift others in their block.
    if any_in_warp(missing):
        if thread == 0:
            for h in range(H):
                if scratch.insert[h] == 1:
                    scratch.insert[h] = 0
                    s = int(path[h])
                    row = ((0 if sizes.pooled else h) * S + s) * A + int(path[H + 1 + h])
                    y = int(path[h + 1])
                    at = find_successor(sizes, learner, row, y)
                    if at < 0:
                        at = insert_successor(sizes, learner, row, y)
                    learner.m[at] += 1
        warp_barrier()
    return due


@phase
def count_dropped(sizes: Sizes, world: World, path: Array, dropped: Array, thread: int) -> None:
    """Count the steps of an episode whose feedback arrives after the last episode of the run.

    For each step, the entry of its row in `dropped` is increased by 1. `path` holds the H + 1
    states and H actions of the episode. The steps are divided among the threads of the first warp;
    `thread` is the number of the calling one.
    """
    S, A, H = sizes.S, sizes.A, sizes.H
    for h in range(thread, H, LANES):
        s = int(path[h])
        if not is_over(sizes, world, h, s):
            row = ((0 if sizes.pooled else h) * S + s) * A + int(path[H + 1 + h])
            cuda.atomic.add(dropped, row, 1)


@phase
def mark_actions(
    sizes: Sizes, world: World, learner: Learner, threshold: float, thread: int
) -> None:
    """Update the mask of actions to explore; see `belated.learner.exploration.count_visit`.

    The mask is a function of the visits and the `threshold`, so that it need not be updated after
    every visit. All threads of the run call this function; `thread` is the number of the calling
    one.
    """
    S, A = sizes.S, sizes.A
    for cell in range(thread, (sizes.H if sizes.mask_per_step else 1) * S, sizes.threads):
        h = cell // S
        s = cell - h * S
        first = U(((0 if sizes.visits_pooled else h) * S + s) * A)
        total = 0
        below = False
        for a in range(A):
            total += learner.visits[U(first + U(a))]
            rare = learner.visits[U(first + U(a))] < threshold
            below = below or (rare and is_allowed(sizes, world, h, s * A + a))
        if sizes.by_state:
            below = total < threshold
        if is_over(sizes, world, h, s):
            below = False
        for a in range(A):
            mark = below and (not sizes.rare_only or learner.visits[U(first + U(a))] < threshold)
            mark = mark and is_allowed(sizes, world, h, s * A + a)
            learner.explore[U(cell * A + a)] = 1 if mark else 0
    barrier(sizes.threads)


@phase
def count_marked(sizes: Sizes, learner: Learner, h: int, s: int) -> int:
    """Return the number of actions in the mask of actions to explore at step `h` in state `s`."""
    first = U(U(U(h if sizes.mask_per_step else 0) * U(sizes.S) + U(s)) * U(sizes.A))
    marked = 0
    for a in range(sizes.A):
        marked += learner.explore[U(first + U(a))]
    return marked


@phase
def play(
    sizes: Sizes,
    world: World,
    learner: Learner,
    scratch: Scratch,
    path: Array,
    epsilon: float,
    thread: int,
) -> tuple[int, bool]:
    """Play one episode, and return its first state and whether the policy explored in it.

    The policy explores where the mask of actions to explore contains an action. Elsewhere, the
    action is drawn uniformly with probability `epsilon`. `scratch.u` and `scratch.u_explore` hold
    the random numbers. All threads of the first warp play the same episode, and thread 0 stores it
    in `path`; `thread` is the number of the calling one.
    """
    S, A, H = U(sizes.S), U(sizes.A), sizes.H
    start = draw(world.start_cum, 0, S, scratch.u[H])
    s = U(start)
    explored = False
    over = False
    if thread == 0:
        path[0] = s
    h = U(0)
    while h < U(H):
        if is_over(sizes, world, h, s):
            over = True
        a = U(0)
        if not over:
            a = U(learner.actions[U(h * S + s)])
            if sizes.stochastic:
                u = scratch.u_explore[h]
                marked = count_marked(sizes, learner, h, s) if sizes.counts_visits else 0
                if marked > 0:
                    explored = True
                    skip = int(u * marked)
                    first = U(U(U(h if sizes.mask_per_step else 0) * S + s) * A)
                    for b in range(sizes.A):
                        if learner.explore[U(first + U(b))] == 1:
                            if skip == 0:
                                a = U(b)
                            skip -= 1
                elif u < epsilon:
                    if sizes.restricted:
                        a = U(draw_allowed(world.fixed, INT(h), INT(s), sizes.A, u / epsilon))
                    else:
                        a = U(u / epsilon * sizes.A)
            row = U(U(U(h if sizes.stage_dependent else 0) * S + s) * A + a)
            s = U(world.succ[draw(world.cum, world.ptr[row], world.ptr[row + U(1)], scratch.u[h])])
        if thread == 0:
            path[U(U(H + 1) + h)] = a
            path[h + U(1)] = s
        h = U(h + U(1))
    return INT(start), explored


@phase
def draw_index(cum: Array, lo: int, hi: int, u: float) -> Any:
    """Return the first index j in `lo` .. `hi` - 1 with `u` < `cum[j]`.

    The result is that of `belated.mdp.play.draw`, computed with unsigned indices.
    """
    first, last = U(lo), U(hi - 1)
    while first < last:
        middle = U(U(first + last) >> U(1))
        if u < cum[middle]:
            last = middle
        else:
            first = U(middle + U(1))
    return first


replace_on_gpu(draw, draw_index)


@phase
def draw_uniforms(sizes: Sizes, scratch: Scratch, seed: np.uint64, k: int, thread: int) -> None:
    """Draw all random numbers of episode `k`, and store them in `scratch`.

    The work is divided among the threads of the first warp; `thread` is the number of the calling
    one. `seed` is the seed of the run.
    """
    H = sizes.H
    for h in range(thread, H + 1, LANES):
        scratch.u[h] = uniform(seed, TRANSITION if h < H else START, k, h if h < H else 0)
    if sizes.stochastic:
        for h in range(thread, H, LANES):
            scratch.u_explore[h] = uniform(seed, EXPLORE, k, h)
    warp_barrier()


@phase
def copy_learner(source: Learner, target: Learner, thread: int, threads: int) -> None:
    """Copy the learner state `source` to `target`.

    The work is divided among `threads` threads; `thread` is the number of the calling one.
    """
    for i in range(thread, source.n.size, threads):
        target.n[i] = source.n[i]
        target.epoch_n[i] = source.epoch_n[i]
        target.size[i] = source.size[i]
    for i in range(thread, source.m.size, threads):
        target.succ[i] = source.succ[i]
        target.m[i] = source.m[i]
    for i in range(thread, source.actions.size, threads):
        target.actions[i] = source.actions[i]
    for i in range(thread, source.visits.size, threads):
        target.visits[i] = source.visits[i]
    for i in range(thread, source.explore.size, threads):
        target.explore[i] = source.explore[i]
    for i in range(thread, source.q.size, threads):
        target.q[i] = source.q[i]
