"""The kernel of the GPU engine: each block of threads plays a slice of the episodes of one run.

Between two slices the state of a run is in global memory, so that the host can report progress and
can be interrupted. During a slice it is in shared memory if it is small enough.
"""

from functools import cache
from types import FunctionType
from typing import Any, Final, NamedTuple

import numpy as np

from belated.compiled import bind
from belated.simulation.gpu import phases, planning
from belated.simulation.gpu.compiler import (
    compile_kernel,
    cuda,
    device_function,
    device_size,
    phase,
)
from belated.simulation.gpu.phases import Learner, Scratch, Sizes, World
from belated.simulation.gpu.threads import LANES, any_thread, barrier, warp_barrier
from belated.simulation.reference import OPTIMISM_TOLERANCE

MAX_SHARED_BYTES: Final = 40_000
"""Largest amount of shared memory that a block uses, in bytes; every GPU has 48 KiB per block."""

MAX_COUNTS_BYTES: Final = 12_000
"""Largest size, in bytes, of a learner state that is kept in shared memory. A larger one stays in
global memory, since it would leave room for too few runs at a time."""

MAX_ROWS_BYTES: Final = 8_000
"""Largest size, in bytes, of the values Q of one step that are kept in shared memory. Larger ones
stay in global memory."""

MAX_REGISTERS: Final = 96
"""Largest number of registers per thread. With it, a multiprocessor, which has 64 Ki registers, can
run 21 warps at a time."""

REGISTERS: Final = 64 << 10
"""Number of registers of a multiprocessor."""

MAX_BLOCKS: Final = 32
"""Largest number of runs that a multiprocessor plays at a time."""

BLOCK_BYTES: Final = 1024
"""Shared memory that the driver reserves for each block, in bytes."""

PLAN_WORK: Final = 3
"""Rough estimate of the time of a plan, as a multiple of the time of an episode without a plan."""

# Columns of `ints`, the whole numbers of a run:
SETTING: Final = 0  # row of `constants`
EPISODES: Final = 1  # number of episodes K
PLAYED: Final = 2  # number of episodes played
PLANS: Final = 3  # number of plans
MISSING: Final = 4  # this and the next four: see `belated.simulation.engine`
MAX_MISSING: Final = 5
WAITED: Final = 6
OPTIMISM_BROKEN: Final = 7
LAST_EXPLORED: Final = 8
RING: Final = 9  # first slot of the run in the ring of episodes in flight
RING_SIZE: Final = 10  # number of slots of the run, larger than its longest delay plus one
NEXT_POINT: Final = 11  # index of the next checkpoint in `points`, and of its regret
INTS: Final = 12

# Columns of `floats`, the real numbers of a run:
TOTAL: Final = 0  # regret so far
ALPHA: Final = 1  # alpha of lazy updating; infinity is active updating
THRESHOLD: Final = 2  # threshold of the exploration rule
EPSILON: Final = 3  # probability of a random action
FLOATS: Final = 4


class Kind(NamedTuple):
    """Properties that determine the code of a kernel; runs of one kind share a kernel."""

    sizes: Sizes
    backup: Any  # function
    every_episode: bool  # whether to plan for every episode
    state_type: Any  # type of a state in memory
    action_type: Any  # type of an action in memory

    @property
    def count_rows(self) -> int:
        """Number of rows of the counts: H * S * A, or S * A if counts are pooled."""
        sizes = self.sizes
        return (1 if sizes.pooled else sizes.H) * sizes.S * sizes.A

    def learner_shapes(self) -> dict[str, tuple[int, Any]]:
        """Return a map from the name of each array of `Learner` to its length and type."""
        sizes, rows = self.sizes, self.count_rows
        cells = sizes.S * sizes.A
        visits = (1 if sizes.visits_pooled else sizes.H) * cells if sizes.counts_visits else 1
        mask = (sizes.H if sizes.mask_per_step else 1) * cells if sizes.counts_visits else 1
        return {
            "n": (rows, np.int32),
            "epoch_n": (rows, np.int32),
            "size": (rows, np.int16 if sizes.capacity < 2**15 else np.int32),
            "succ": (rows * sizes.capacity, self.state_type),
            "m": (rows * sizes.capacity, np.int32),
            "actions": (sizes.H * sizes.S, self.action_type),
            "visits": (visits, np.int32),
            "explore": (mask, np.int8),
            "q": (sizes.H * cells if sizes.monotone else 1, np.float64),
        }

    def scratch_shapes(self) -> dict[str, tuple[int, Any]]:
        """Return a map from the name of each array of `Scratch` to its length and type."""
        sizes = self.sizes
        return {
            "v": (2 * sizes.S, np.float64),
            "w": (2 * sizes.S, np.float64),
            "q": (sizes.S * sizes.A, np.float64),
            "order": (sizes.S if sizes.order else 1, np.int32),
            "visits": (sizes.S if sizes.visits else 1, np.int32),
            "extremes": (2 * sizes.threads if sizes.extremes or sizes.observed else 2, np.float64),
            "u": (sizes.H + 1, np.float64),
            "u_explore": (sizes.H if sizes.stochastic else 1, np.float64),
            "insert": (sizes.H, np.int8),
        }

    @property
    def counts_are_shared(self) -> bool:
        """Whether the counts and the other state of a learner are in shared memory in a slice."""
        return count_bytes(self.learner_shapes()) <= MAX_COUNTS_BYTES

    @property
    def shared_bytes(self) -> int:
        """Shared memory that a run uses during a slice, in bytes."""
        scratch = self.scratch_shapes()
        if not self.rows_are_shared:
            del scratch["q"]
        learner = self.learner_shapes() if self.counts_are_shared else {}
        return count_bytes(scratch) + count_bytes(learner)

    @property
    def gpu_share(self) -> float:
        """Share of the GPU that a run occupies during a slice; 1 is the whole GPU."""
        multiprocessors, shared_bytes = device_size()
        share = max(
            1 / MAX_BLOCKS,
            self.sizes.threads * MAX_REGISTERS / REGISTERS,
            (self.shared_bytes + BLOCK_BYTES) / shared_bytes,
        )
        return share / multiprocessors

    @property
    def bytes(self) -> int:
        """Size of the state of a run in the memory of the GPU, in bytes.

        Its checkpoints, its delays and its episodes in flight are not included.
        """
        rows = self.scratch_shapes()["q"][0]
        own = 8 * INTS + 8 * FLOATS + 16 * self.sizes.S + 4 * self.count_rows + 8 * rows
        return own + count_bytes(self.learner_shapes())

    @property
    def rows_are_shared(self) -> bool:
        """Whether the values Q of one step are in shared memory during a slice."""
        return self.scratch_shapes()["q"][0] * 8 <= MAX_ROWS_BYTES


def count_bytes(shapes: dict[str, tuple[int, Any]]) -> int:
    """Return the total size in bytes of arrays; `shapes` maps each name to a length and a type."""
    return sum(length * np.dtype(kind).itemsize for length, kind in shapes.values())


@cache
def build_kernel(kind: Kind) -> Any:
    """Return the kernel for runs of this `kind`, which is compiled at its first launch."""
    sizes = kind.sizes
    S, H, threads = sizes.S, sizes.H, sizes.threads
    shared = kind.counts_are_shared
    every_episode = kind.every_episode
    # Lengths of the shared arrays; 1 where an array is in global memory.
    learner_shapes = kind.learner_shapes()
    lengths = {name: length if shared else 1 for name, (length, _) in learner_shapes.items()}
    n_len, size_len, block_len = lengths["n"], lengths["size"], lengths["succ"]
    action_len, visit_len = lengths["actions"], lengths["visits"]
    mask_len, q_len = lengths["explore"], lengths["q"]
    size_type, state_type = learner_shapes["size"][1], kind.state_type
    action_type = kind.action_type
    scratch_lengths = {name: length for name, (length, _) in kind.scratch_shapes().items()}
    rows_are_shared = kind.rows_are_shared
    row_len = scratch_lengths["q"] if rows_are_shared else 1
    order_len = scratch_lengths["order"]
    next_len, extreme_len = scratch_lengths["visits"], scratch_lengths["extremes"] // 2
    u_len, explore_len = scratch_lengths["u"], scratch_lengths["u_explore"]

    deliver, play = device_function(phases.deliver), device_function(phases.play)
    mark_actions = device_function(phases.mark_actions)
    draw_uniforms = device_function(phases.draw_uniforms)
    copy, count_dropped = (
        device_function(phases.copy_learner),
        device_function(phases.count_dropped),
    )
    wait_for_all, is_any = device_function(barrier), device_function(any_thread)
    wait_for_warp = device_function(warp_barrier)
    plan = plan_with(kind.backup)

    def run_slice(
        budget: int,
        seeds: Any,
        ints: Any,
        floats: Any,
        constants: Any,
        delays: Any,
        points: Any,
        regret: Any,
        ptr: Any,
        succ: Any,
        prob: Any,
        cum: Any,
        rewards: Any,
        known: Any,
        start_cum: Any,
        v_star: Any,
        fixed: Any,
        values: Any,
        paths: Any,
        arriving: Any,
        after: Any,
        dropped: Any,
        g_n: Any,
        g_epoch_n: Any,
        g_size: Any,
        g_succ: Any,
        g_m: Any,
        g_actions: Any,
        g_visits: Any,
        g_explore: Any,
        g_q: Any,
        g_rows: Any,
    ) -> None:
        run = cuda.blockIdx.x
        thread = cuda.threadIdx.x
        K = ints[run, EPISODES]
        played = ints[run, PLAYED]
        if played >= K:
            return
        world = World(ptr, succ, prob, cum, rewards, known, start_cum, v_star, fixed)
        # Load the state of the run.
        scratch = Scratch(
            cuda.shared.array((2, S), np.float64),
            cuda.shared.array((2, S), np.float64),
            cuda.shared.array(row_len, np.float64) if rows_are_shared else g_rows[run],
            cuda.shared.array(order_len, np.int32),
            cuda.shared.array(next_len, np.int32),
            cuda.shared.array((extreme_len, 2), np.float64),
            cuda.shared.array(u_len, np.float64),
            cuda.shared.array(explore_len, np.float64),
            cuda.shared.array(H, np.int8),
        )
        here = Learner(
            cuda.shared.array(n_len, np.int32),
            cuda.shared.array(n_len, np.int32),
            cuda.shared.array(size_len, size_type),
            cuda.shared.array(block_len, state_type),
            cuda.shared.array(block_len, np.int32),
            cuda.shared.array(action_len, action_type),
            cuda.shared.array(visit_len, np.int32),
            cuda.shared.array(mask_len, np.int8),
            cuda.shared.array(q_len, np.float64),
        )
        stored = Learner(
            g_n[run],
            g_epoch_n[run],
            g_size[run],
            g_succ[run],
            g_m[run],
            g_actions[run],
            g_visits[run],
            g_explore[run],
            g_q[run],
        )
        learner = here if shared else stored
        if shared:
            copy(stored, here, thread, threads)
        for s in range(thread, S, threads):
            scratch.v[0, s] = values[run, 0, s]
            scratch.w[0, s] = values[run, 1, s]
        for h in range(thread, H, threads):
            scratch.insert[h] = 0
        seed = seeds[run]
        own_constants = constants[ints[run, SETTING]]
        plans = ints[run, PLANS]
        missing = ints[run, MISSING]
        max_missing = ints[run, MAX_MISSING]
        waited = ints[run, WAITED]
        broken = ints[run, OPTIMISM_BROKEN]
        last_explored = ints[run, LAST_EXPLORED]
        ring = ints[run, RING]
        ring_size = ints[run, RING_SIZE]
        point = ints[run, NEXT_POINT]
        total = floats[run, TOTAL]
        alpha = floats[run, ALPHA]
        threshold = floats[run, THRESHOLD]
        epsilon = floats[run, EPSILON]
        wait_for_all(threads)
        if sizes.counts_visits and played == 0:
            mark_actions(sizes, world, learner, threshold, thread)
        # A slice ends after a given amount of work, so that the runs of a batch end together.
        end = min(K, played + delays.shape[1])
        work = 0
        k = played
        while k < end and work < budget:
            k += 1
            work += 1
            slot = ring + k % ring_size
            # 1. Deliver the feedback that arrives before this episode, and find out if a plan is
            # due.
            due = k == 1 or every_episode
            arrived = arriving[slot]
            if arrived >= 0:
                grown = 0
                if thread < LANES:
                    while arrived >= 0:
                        path = paths[arrived]
                        if deliver(sizes, world, learner, scratch, path, alpha, thread):
                            grown = 1
                        missing -= 1
                        arrived = after[arrived]
                if is_any(threads, grown):
                    due = True
                if sizes.counts_visits:
                    mark_actions(sizes, world, learner, threshold, thread)
            # 2. Plan, and evaluate the new policy.
            if due:
                plan(own_constants, sizes, world, learner, scratch, seed, plans, epsilon, thread)
                plans += 1
                work += PLAN_WORK
            if thread < LANES:
                # 3. Play, and add the exact regret for the first state drawn.
                max_missing = max(max_missing, missing)
                waited += missing
                draw_uniforms(sizes, scratch, seed, k, thread)
                s, explored = play(sizes, world, learner, scratch, paths[slot], epsilon, thread)
                if explored:
                    last_explored = k
                gap = v_star[s] - scratch.w[0, s]
                total = gap if k == 1 else total + gap
                if scratch.v[0, s] < v_star[s] - OPTIMISM_TOLERANCE:
                    broken += 1
                # 4. Send the feedback, or count it as dropped if it arrives after the last episode.
                delay = delays[run, k - played - 1]
                if k + delay >= K:
                    wait_for_warp()
                    count_dropped(sizes, world, paths[slot], dropped[run], thread)
                if thread == 0:
                    arriving[slot] = -1
                    if k + delay < K:
                        at = ring + (k + delay + 1) % ring_size
                        after[slot] = arriving[at]
                        arriving[at] = slot
                    # 5. Record the regret at a checkpoint.
                    if points[point] == k:
                        regret[point] = total
                if points[point] == k:
                    point += 1
                missing += 1
            wait_for_all(threads)
        # Store the state of the run.
        if shared:
            copy(here, stored, thread, threads)
        for s in range(thread, S, threads):
            values[run, 0, s] = scratch.v[0, s]
            values[run, 1, s] = scratch.w[0, s]
        if thread == 0:
            ints[run, PLAYED] = k
            ints[run, PLANS] = plans
            ints[run, MISSING] = missing
            ints[run, MAX_MISSING] = max_missing
            ints[run, WAITED] = waited
            ints[run, OPTIMISM_BROKEN] = broken
            ints[run, LAST_EXPLORED] = last_explored
            ints[run, NEXT_POINT] = point
            floats[run, TOTAL] = total

    return compile_kernel(run_slice, max_registers=MAX_REGISTERS)


@cache
def plan_with(backup: FunctionType) -> Any:
    """Return `belated.simulation.gpu.planning.plan` as a device function that calls `backup`."""
    return device_function(bind(planning.plan, back_up=phase(bind(backup))))
