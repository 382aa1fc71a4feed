"""Records of the kernels: the constants of a kernel, and the arrays of a batch of runs.

All arrays are in the memory of the GPU between two slices of episodes, so that the host can report
progress and can be interrupted.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.simulation.gpu.compiler import SIMULATED

Array = NDArray[Any]

WARP: Final = 2 if SIMULATED else 32
"""Number of threads that a GPU starts together."""

MAX_THREADS: Final = WARP if SIMULATED else 128
"""Largest number of threads of a run. More threads plan faster, but leave room for fewer runs."""

MAX_SHARED_BYTES: Final = 40_000
"""Largest amount of shared memory that a run uses, in bytes; every GPU has 48 KiB per block."""

# Columns of `Runs.ints`:
SETTING: Final = 0  # row of `constants`
EPISODES: Final = 1  # number of episodes K
PLAYED: Final = 2  # number of episodes played
PLANS: Final = 3  # number of plans
MISSING: Final = 4  # this and the next four: see `belated.simulation.engine`
MAX_MISSING: Final = 5
WAITED: Final = 6
OPTIMISM_BROKEN: Final = 7
LAST_EXPLORED: Final = 8
SLOTS: Final = 9  # first slot of the run for episodes in flight
SLOT_COUNT: Final = 10  # number of its slots, larger than its longest delay plus one
NEXT_POINT: Final = 11  # index of the next checkpoint in `points`, and of its regret
DELAYS: Final = 12  # index in `delays` of the delay of the first episode
INTS: Final = 13

# Columns of `Runs.floats`:
TOTAL: Final = 0  # regret so far
ALPHA: Final = 1  # alpha of lazy updating; infinity is active updating
THRESHOLD: Final = 2  # threshold of the exploration rule
EPSILON: Final = 3  # probability of a random action
FLOATS: Final = 4


class Sizes(NamedTuple):
    """Constants of a kernel: sizes of the problem, and parts of the algorithm that it needs.

    The compiler removes the branches that the kernel does not need.
    """

    S: int  # states
    A: int  # actions
    H: int  # steps
    capacity: int  # largest number of successors of a row of the counts
    threads: int  # threads per run
    pooled: bool  # whether counts are pooled over the steps
    random_ties: bool  # whether ties are broken at random
    monotone: bool  # whether no Q may become larger than in the previous plan
    extremes: bool  # whether the backup reads the largest or smallest next value
    order: bool  # whether the backup reads the order of the states
    visits: bool  # whether the backup reads the visits of the next states
    samples: bool  # whether the backup draws random numbers
    stochastic: bool  # whether the policy draws actions at random
    counts_visits: bool  # whether the exploration rule counts visits
    visits_pooled: bool  # whether it counts them over all steps
    by_state: bool  # this field and the next: see Exploration
    rare_only: bool
    every_episode: bool  # whether to plan for every episode

    @property
    def rows(self) -> int:
        """Number of rows of the counts: H * S * A, or S * A if counts are pooled."""
        return (1 if self.pooled else self.H) * self.S * self.A

    @property
    def shared_bytes(self) -> int:
        """Size of `Scratch`, in bytes."""
        return self.S * 44 + self.H * 9 + 8


class World(NamedTuple):
    """Arrays of the simulated world; see `MDP` and `Shape`."""

    ptr: Array
    succ: Array
    prob: Array
    cum: Array
    rewards: Array  # (1 or H, S, A)
    start_cum: Array
    known: Array  # (H, S * A) rewards that the learner knows
    v_star: Array  # (S) V*_1
    fixed: Array  # (H, S * A) values that are not computed, else NaN; see Shape.fixed_values
    allowed: Array  # (H, S, A) mask of allowed actions
    terminal: Array  # (S) mask of terminal states


class Runs(NamedTuple):
    """Arrays of the runs of a batch."""

    seeds: Array  # (runs)
    ints: Array  # (runs, INTS)
    floats: Array  # (runs, FLOATS)
    constants: Array  # (settings, constants) of the backup
    delays: Array  # delays of all episodes; runs with the same delays share them
    points: Array  # checkpoints of all runs
    regret: Array  # regret at each checkpoint
    paths: Array  # (slots, 2 * H + 1) H + 1 states and H actions of each episode in flight
    arriving: Array  # (slots) first of the episodes that arrive together; -1 if there are none
    after: Array  # (slots) the one that arrives with it; -1 if there is none
    dropped: Array  # (runs, rows) visits whose feedback arrives after the last episode


class Learner(NamedTuple):
    """States of the learners of a batch, with the runs as first axis; or of one run, without it."""

    n: Array  # (rows) N'
    epoch_n: Array  # (rows) N' at the last plan
    size: Array  # (rows) number of distinct successors observed
    succ: Array  # (rows * capacity) successors observed, in increasing order in each row
    m: Array  # (rows * capacity) M'
    actions: Array  # (H, S) policy
    q: Array  # (H or 1, S * A) values of the last plan, or of one step if they are not needed
    first: Array  # (2, S) V~ and the exact value of the policy at the first step
    visits: Array  # (1 or H, S, A) visits that the exploration rule counts
    explore: Array  # (H, S, A) mask of actions to explore


class Scratch(NamedTuple):
    """Working memory of one run, which its threads share during a slice."""

    v: Array  # (2, S) V~ of two consecutive steps; step h is in row h & 1
    w: Array  # (2, S) exact value of the policy, likewise
    visits: Array  # (2, S) visits of the states, likewise
    order: Array  # (S) states by V~ of the next step, largest first
    u: Array  # (H + 1) random numbers of the steps, and of the first state
    insert: Array  # (H) whether the successor of a step has not been observed before


def empty_learners(sizes: Sizes, runs: int) -> Learner:
    """Return the states of the learners of `runs` runs before their first plan."""
    S, A, H, rows = sizes.S, sizes.A, sizes.H, sizes.rows
    visits = (1 if sizes.visits_pooled else H, S, A) if sizes.counts_visits else (1, 1, 1)
    return Learner(
        n=np.zeros((runs, rows), np.int32),
        epoch_n=np.zeros((runs, rows), np.int32),
        size=np.zeros((runs, rows), np.int32),
        succ=np.zeros((runs, rows * sizes.capacity), np.int32),
        m=np.zeros((runs, rows * sizes.capacity), np.int32),
        actions=np.zeros((runs, H, S), np.int32),
        q=np.full((runs, H if sizes.monotone else 1, S * A), np.inf),
        first=np.zeros((runs, 2, S)),
        visits=np.zeros((runs, *visits), np.int32),
        explore=np.zeros((runs, *((H, S, A) if sizes.stochastic else (1, 1, 1))), np.bool_),
    )
