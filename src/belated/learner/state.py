"""The state of a learner as one record of plain arrays, and the configuration of its kernels.

A `LearnerState` holds all observations and the current plan of a learner. The compiled engine, the
`Learner` class and the service all update this record with the kernels of
`belated.learner.updating`. A snapshot is a copy of the record. Kernels change its arrays in place
and allocate no memory; arrays that must grow are replaced between two calls of kernels.

Counts N' and M' of observed visits and transitions are sparse arrays that can grow. A row is the
index of a (stage, state, action) triple: row = (stage * S + state) * A + action. The observed
successors of a row are stored in one block of an array that all rows share, called the pool. They
are sorted by state, so that sums over successors do not depend on the order of arrival. The
capacity of a block is a power of two; a full block is moved to a new block of twice the capacity.
Pooled counts have one stage, which counts every step of an episode.
"""

from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from belated.compiled import JIT, inlined, kernel
from belated.episode import Bools, Floats, Shape
from belated.learner.backup import READS, as_backup
from belated.learner.bases.base import OwnState
from belated.learner.exploration import Exploration
from belated.learner.problem import LearningProblem
from belated.learner.rewards import MEAN, RIDGE, RewardEstimator, RewardSums
from belated.theory import lazy_terms
from belated.worklist import Worklist, empty_worklist

Number = TypeVar("Number", bound=np.generic)

# Indices into `LearnerState.numbers`:
PLANS: Final = 0  # number of plans computed
PLAN_DUE: Final = 1  # 1 if a plan is due because of new feedback
SINCE_PLAN: Final = 2  # number of items of feedback since the last plan
# These two exist only if the updater has a condition other than that of Lazy:
OWN: Final = 3  # number of episodes, started since the last plan, that have arrived completely
EPOCH: Final = 4  # number of plans that the updater required, including the first

# Indices into `Scratch.progress`:
NEXT_STEP: Final = 0  # 1 more than the next step to plan; 0 if no plan is unfinished
MOVED: Final = 1  # number of states at NEXT_STEP whose value changed, in `Scratch.moved`
WHOLE: Final = 2  # 1 if every row of the next step to plan is stale

MAX_SAMPLES: Final = 1 << 24
"""Largest number of samples that a plan keeps: 128 MiB of memory."""


class Counts(NamedTuple):
    """Sparse counts as plain arrays, used by compiled code and stored in snapshots."""

    n: NDArray[np.int64]  # (rows) N'(h, s, a)
    visits: NDArray[np.int64]  # (stages, S) N'(h, s)
    start: NDArray[np.int64]  # (rows) start of the row's block in the pool
    size: NDArray[np.int32]  # (rows) number of distinct successors observed
    succ: NDArray[np.int32]  # (pool) successor states
    m: NDArray[np.int64]  # (pool) M'(h, s, a, succ)
    # For each stage and state, a linked list of the rows that have this state as a successor:
    head: NDArray[np.int32]  # (stages, S) first link of the list, or -1
    link_row: NDArray[np.int32]  # (links) row of the link
    link_next: NDArray[np.int32]  # (links) next link of the list, or -1
    used: NDArray[np.int64]  # (3) pool used, links used, largest number of successors of a row


def empty_counts(shape: Shape, stages: int) -> Counts:
    """Return counts of zero for a problem of size `shape`.

    `stages` is the number of stages: H, or 1 for pooled counts.
    """
    S, rows = shape.states, stages * shape.states * shape.actions
    capacity = 256
    return Counts(
        n=np.zeros(rows, np.int64),
        visits=np.zeros((stages, S), np.int64),
        start=np.zeros(rows, np.int64),
        size=np.zeros(rows, np.int32),
        succ=np.zeros(capacity, np.int32),
        m=np.zeros(capacity, np.int64),
        head=np.full((stages, S), -1, np.int32),
        link_row=np.zeros(capacity, np.int32),
        link_next=np.zeros(capacity, np.int32),
        used=np.zeros(3, np.int64),
    )


@inlined
def has_room(counts: Counts, steps: int) -> bool:
    """Return whether `counts` has free capacity for `steps` arbitrary further transitions."""
    largest_block = 2 * (counts.used[2] + steps)
    return (
        counts.used[0] + steps * largest_block <= counts.succ.size
        and counts.used[1] + steps <= counts.link_row.size
    )


@inlined
def add(counts: Counts, row: int, stage: int, state: int, successor: int, times: int) -> None:
    """Add one or more observations of the same transition to the counts.

    Parameters
    ----------
    counts : Counts
        Changed in place. `has_room(counts, 1)` must be true.
    row : int
        Index of the (stage, state, action) of the transition.
    stage, state : int
        Stage and state of the row.
    successor : int
        Next state.
    times : int
        Number of observations of the transition.
    """
    counts.n[row] += times
    counts.visits[stage, state] += times
    at = counts.start[row]
    end = at + counts.size[row]
    while at < end and counts.succ[at] < successor:
        at += 1
    if at == end or counts.succ[at] != successor:
        at = insert(counts, row, stage, successor, at)
    counts.m[at] += times


@kernel
def insert(counts: Counts, row: int, stage: int, successor: int, at: int) -> int:
    """Insert a new successor with count 0 into the block of a row.

    The block of a row is the part of `counts.succ` and `counts.m` that holds its successors. A full
    block is moved to a new position.

    Parameters
    ----------
    counts : Counts
        Changed in place.
    row, stage : int
        Row, and its stage.
    successor : int
        Next state, not yet in the block of the row.
    at : int
        Index in `counts.succ` at which the successor is inserted, so that the block stays sorted.

    Returns
    -------
    int
        Index of the successor in `counts.succ`; it differs from `at` if the block was moved.
    """
    size = np.int64(counts.size[row])
    first = counts.start[row]
    if size & (size - 1) == 0:  # empty, or a block that is full
        block = counts.used[0]
        counts.used[0] += max(1, 2 * size)
        for j in range(size):
            counts.succ[block + j] = counts.succ[first + j]
            counts.m[block + j] = counts.m[first + j]
        at += block - first
        first = block
        counts.start[row] = first
    for j in range(first + size, at, -1):
        counts.succ[j] = counts.succ[j - 1]
        counts.m[j] = counts.m[j - 1]
    counts.succ[at] = successor
    counts.m[at] = 0
    counts.size[row] = size + 1
    link = counts.used[1]
    counts.link_row[link] = row
    counts.link_next[link] = counts.head[stage, successor]
    counts.head[stage, successor] = link
    counts.used[1] += 1
    counts.used[2] = max(counts.used[2], size + 1)
    return at


def with_room(counts: Counts, steps: int) -> Counts:
    """Return `counts` with free capacity for `steps` more transitions, enlarged if necessary."""
    while not has_room(counts, steps):
        counts = counts._replace(
            succ=_doubled(counts.succ),
            m=_doubled(counts.m),
            link_row=_doubled(counts.link_row),
            link_next=_doubled(counts.link_next),
        )
    return counts


def _doubled(array: NDArray[Number]) -> NDArray[Number]:
    return np.concatenate((array, np.zeros_like(array)))


class Config(NamedTuple):
    """Configuration of a learner's kernels, fixed before the first episode."""

    actions: int  # number of actions, A
    constants: Floats  # constants of the backup
    reads: int  # inputs of the backup, as an index into READS
    reads_visits: bool  # whether the backup reads the next stage's visit counts
    samples: bool  # whether the backup draws random numbers
    monotone: bool  # whether no Q may become larger than in the previous plan
    random_ties: bool  # whether ties are broken at random
    incremental: bool  # whether to plan incrementally
    stepwise: bool  # whether the base learns from single steps
    unknown_rewards: bool  # whether rewards are estimated
    late_rewards: bool  # whether only rewards are late
    every_episode: bool  # whether to compute a plan for every episode
    auto_alpha: bool  # whether to choose alpha automatically at the start of each epoch
    alpha_terms: Floats  # terms of the bound of Theorem 2, from which alpha is chosen
    estimator: RewardEstimator  # formula that estimates unknown rewards
    seed: np.uint64  # seed of the learner
    instance: int  # number of the instance
    fixed: Floats  # (H, S * A) values that are not computed, else NaN; see Shape.fixed_values
    terminal: Bools  # (S) mask of the states in which an episode ends


class PlanTable(NamedTuple):
    """A plan: optimistic values, and the policy that is greedy with respect to them."""

    q: NDArray[np.float64]  # (H, S * A)
    v: NDArray[np.float64]  # (H + 1, S); the last row is zero
    actions: NDArray[np.int32]  # (H, S)
    top: NDArray[np.float64]  # (H + 1) largest v
    low: NDArray[np.float64]  # (H + 1) smallest v
    order: NDArray[np.int32]  # (H + 1, S) states by v, largest first


class Scratch(NamedTuple):
    """Working memory of the planner.

    The planner increases `stamp` by 1 at each step h. A row or state is already in the list of the
    current step if its own stamp equals `stamp`; lists therefore need no clearing. Some arrays keep
    their content between two plans: the stamps, the levels, and the terms of the backup, `terms`,
    with `term_n`, the visits N' for which they were computed.
    """

    rows: NDArray[np.int32]  # (S * A + 1) rows of this step to back up; the last is not used
    out: Floats  # (S * A) results of the backups
    row_stamp: NDArray[np.int64]  # (S * A) last stamp at which the row was listed
    states: NDArray[np.int32]  # (S + 1) states of this step with a changed Q
    state_stamp: NDArray[np.int64]  # (S) last stamp at which the state was listed
    moved: NDArray[np.int32]  # (S + 1) states of the next step with a changed value
    stamp: NDArray[np.int64]  # (1) number of steps processed so far
    progress: NDArray[np.int64]  # (3) where an unfinished plan goes on; see NEXT_STEP
    highest: Floats  # (1) largest value that changed at the next step of an unfinished plan
    work: NDArray[np.int64]  # (1) row backups and steps played since the learner was made
    no_visits: NDArray[np.int64]  # (S) zeros: visits after the last step
    term_n: NDArray[np.int64]  # (rows) N' of the terms of each row, 0 for none; see RowTerms
    terms: Floats  # (2, rows) the terms; (2, 0) if the backup has none
    levels: Floats  # (H, S * A) level of each row, see RowTerms; (H, 0) if levels are not used
    samples: Floats  # numbers that a backup draws once for a plan; see BackupRule.kept_samples


class LearnerState(NamedTuple):
    """All observations and the current plan of a learner, as plain arrays."""

    # Observed
    counts: Counts  # N' and M'
    reward_sums: RewardSums  # sums of observed rewards; empty if rewards are known
    own: OwnState  # state of a base with hooks
    exploration: Exploration  # counts of the exploration rule, and the mask of actions to explore

    # Planned
    rewards: Floats  # (H, S * A) known or estimated rewards
    table: PlanTable
    epoch_counts: NDArray[np.int64]  # (rows) counts at the last plan
    alpha: Floats  # (1) alpha of lazy updating in this epoch; infinity is active updating
    numbers: NDArray[np.int64]  # (3) PLANS, PLAN_DUE and SINCE_PLAN; or (5) with OWN and EPOCH

    # Observed since the last plan
    touched: Worklist  # rows with new observations, by stage
    new_rewards: Worklist  # rows with rewards not yet used for `rewards`, by stage

    # Scratch
    changed: Worklist  # indices h * S + s at which the policy changed, by step
    scratch: Scratch


class LearnerRecord(NamedTuple):
    """All that the planner and the functions of a base need, to which one pointer is passed."""

    config: Config
    state: LearnerState


def empty_table(shape: Shape) -> PlanTable:
    """Return the plan table of a learner before its first plan, for a problem of size `shape`.

    Q is infinite, V~ is 0, and the action is 0 everywhere.
    """
    H, S, A = shape.table
    return PlanTable(
        q=np.full((H, S * A), np.inf),
        v=np.zeros((H + 1, S)),
        actions=np.zeros((H, S), np.int32),
        top=np.zeros(H + 1),
        low=np.zeros(H + 1),
        order=np.tile(np.arange(S, dtype=np.int32), (H + 1, 1)),
    )


def empty_scratch(problem: LearningProblem) -> Scratch:
    """Return working memory for the plans of a learner of `problem`."""
    H, S, A = problem.shape.table
    rule, backup = problem.backup_rule, as_backup(problem.backup_rule.backup)
    terms, has_levels = 0, rule.reads == "above" and (backup.compiled or not JIT)
    if backup.compiled and backup.terms is not None:
        terms, has_levels = problem.rows, has_levels or backup.terms.has_level
    samples = problem.rows * rule.kept_samples if problem.stages == "pooled" else 0
    return Scratch(
        rows=np.zeros(S * A + 1, np.int32),
        out=np.zeros(S * A),
        row_stamp=np.zeros(S * A, np.int64),
        states=np.zeros(S + 1, np.int32),
        state_stamp=np.zeros(S, np.int64),
        moved=np.zeros(S + 1, np.int32),
        stamp=np.zeros(1, np.int64),
        progress=np.zeros(3, np.int64),
        highest=np.zeros(1),
        work=np.zeros(1, np.int64),
        no_visits=np.zeros(S, np.int64),
        term_n=np.zeros(terms, np.int64),
        terms=np.zeros((2, terms)),
        levels=np.full((H, S * A if has_levels else 0), -np.inf),
        samples=np.zeros(samples if samples <= MAX_SAMPLES else 0),
    )


def empty_state(problem: LearningProblem) -> LearnerState:
    """Return the initial state of a learner of `problem`, without observations or a plan."""
    shape, stages, rows = problem.shape, problem.count_stages, problem.rows
    base, updater = problem.algorithm, problem.updater
    H, S = shape.horizon, shape.states
    reward_rows = rows if problem.unknown_rewards else 0
    alpha = updater.lazy_alpha()
    table = empty_table(shape)
    initial = 0.0 if problem.reward_estimator.kind in (MEAN, RIDGE) else 1.0
    rewards = np.full(table.q.shape, initial) if problem.unknown_rewards else problem.rewards
    hooks = problem.backup_rule.hooks
    if hooks is not None:
        hooks.initialise(problem.backup_rule.constants, table.q, table.v)
        if shape.is_restricted:
            table.q[:] = np.where(np.isnan(shape.fixed_values), table.q, shape.fixed_values)
            table.v[:, shape.is_terminal] = 0.0
        table.actions[:] = table.q.reshape(shape.table).argmax(axis=2)
    return LearnerState(
        counts=empty_counts(shape, stages),
        reward_sums=RewardSums(*np.zeros((3, reward_rows), np.int64)),
        own=OwnState(
            np.zeros(0 if hooks is None else hooks.size),
            np.zeros((0, 0) if hooks is None else (H, hooks.width)),
            np.zeros(1, np.int64),
        ),
        exploration=updater.exploration(shape, float(base.epsilon)),
        rewards=rewards.reshape(table.q.shape).copy(),
        table=table,
        epoch_counts=np.zeros(rows, np.int64),
        alpha=np.array([alpha if isinstance(alpha, float) else np.inf]),
        numbers=np.zeros(EPOCH + 1 if alpha is None else SINCE_PLAN + 1, np.int64),
        touched=empty_worklist(groups=stages, items=rows),
        new_rewards=empty_worklist(groups=stages, items=reward_rows),
        changed=empty_worklist(groups=H, items=H * S),
        scratch=empty_scratch(problem),
    )


def configure(problem: LearningProblem, instance: int) -> Config:
    """Return the configuration of instance number `instance` of a learner of `problem`."""
    base, updater = problem.algorithm, problem.updater
    auto = updater.lazy_alpha() == "auto"
    terms = np.zeros(0)
    if auto:
        terms = lazy_terms(
            problem.shape,
            episodes=problem.episodes,
            base=base.name,
            delta=base.delta,
            scale=float(base.scale),
        )
    rule = problem.backup_rule
    compiled = as_backup(rule.backup).compiled or not JIT
    return Config(
        actions=problem.shape.actions,
        constants=np.array(rule.constants, np.float64),
        reads=READS.index(rule.reads),
        reads_visits=rule.reads_visits,
        samples=rule.samples,
        monotone=base.monotone and not rule.samples,  # a sample is no bound on the next
        random_ties=base.ties == "random",
        incremental=compiled and problem.planning != "full" and not rule.samples,
        stepwise=base.stepwise,
        unknown_rewards=problem.unknown_rewards,
        late_rewards=problem.late_rewards,
        every_episode=base.replans_every_episode(updater),
        auto_alpha=auto,
        alpha_terms=terms,
        estimator=problem.reward_estimator,
        seed=np.uint64(problem.seed),
        instance=instance,
        fixed=problem.shape.fixed_values,
        terminal=problem.shape.is_terminal.copy(),
    )


def with_room_for(state: LearnerState, steps: int) -> LearnerState:
    """Return `state` with free capacity for `steps` more steps of feedback, enlarged if needed."""
    own = state.own
    capacity, width = own.queue.shape
    if width > 0 and own.queued[0] + steps > capacity:
        room = np.zeros((capacity + steps, width))
        own = own._replace(queue=np.concatenate((own.queue, room)))
    return state._replace(counts=with_room(state.counts, steps), own=own)


@inlined
def row_of(config: Config, counts: Counts, h: int, s: int, a: int) -> int:
    """Return the row of the `counts` for action `a` in state `s` at step `h`.

    `config` is the configuration of the learner.
    """
    stage = 0 if counts.visits.shape[0] == 1 else h
    return int((stage * counts.visits.shape[1] + s) * config.actions + a)
