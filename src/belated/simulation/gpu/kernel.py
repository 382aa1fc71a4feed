"""The kernel of the GPU engine: each block of threads plays a slice of the episodes of one run."""

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from belated.compiled import bind
from belated.learner.exploration import Exploration
from belated.simulation.gpu import planning
from belated.simulation.gpu.compiler import compile_kernel, cuda, device, on_device
from belated.simulation.gpu.episode import (
    draw_uniforms,
    mark_actions,
    play,
    receive,
    record,
    send,
)
from belated.simulation.gpu.planning import plan
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
    Learner,
    Runs,
    Scratch,
    Sizes,
    World,
)

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
    fill = device(bind(planning.fill_values, back_up=on_device(kind.backup)))
    names = {
        "SIZES": sizes,
        "allocate": device(bind(allocate, S=sizes.S, H=sizes.H, DRAWS=sizes.H + 1)),
        "plan": device(bind(plan, fill_values=fill)),
    }
    return compile_kernel(bind(run_slice, **names))
