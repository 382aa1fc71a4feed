"""The state of a learner as one record of plain arrays, and the configuration of its kernels.

A `LearnerState` holds all observations and the current plan of a learner. The compiled engine, the
`Learner` class and the service all update this record with the kernels of
`belated.learner.updating`. A snapshot is a copy of the record. Kernels change its arrays in place
and allocate no memory; arrays that must grow are replaced between two calls of kernels.
"""

from typing import Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from belated.compiled import JIT
from belated.episode import Floats, Ints, Shape
from belated.learner.backup import Backup, RowTerms
from belated.learner.backup_call import TERM_SLOTS
from belated.learner.bases.base import Reads
from belated.learner.bases.q_learning import (
    Inbox,
    QMemory,
    empty_inbox,
    empty_memory,
    initialise_values,
    with_inbox_room,
)
from belated.learner.counts import Counts, empty_counts, with_room
from belated.learner.exploration import Exploration, no_exploration
from belated.learner.planning.packed import BLOCK_ROWS, PackedCounts, empty_packed
from belated.learner.planning.pairs import pair_memory
from belated.learner.planning.readers import MAX_MASK_ROWS, Readers, empty_readers
from belated.learner.planning.row_lanes import lane_memory
from belated.learner.planning.weights import MAX_WEIGHTS
from belated.learner.problem import LearningProblem
from belated.learner.rewards import RewardEstimator, RewardSums, empty_sums
from belated.theory.alpha import lazy_terms
from belated.worklist import Worklist, empty_worklist

READS: Final = get_args(Reads)
READS_SUCCESSORS: Final = READS.index("successors")
READS_BEST: Final = READS.index("best")
READS_EXTREMES: Final = READS.index("extremes")
READS_EVERYTHING: Final = READS.index("everything")
READS_ORDER: Final = READS.index("order")

# Indices into `LearnerState.numbers`:
PLANS: Final = 0  # number of plans computed
PLAN_DUE: Final = 1  # 1 if a plan is due because of new feedback
SINCE_PLAN: Final = 2  # number of items of feedback since the last plan
# These two exist only if the updater has a condition other than that of Lazy:
OWN: Final = 3  # number of episodes, started since the last plan, that have arrived completely
EPOCH: Final = 4  # number of plans that the updater required, including the first

MAX_SMALL_STAGE: Final = MAX_MASK_ROWS
"""Largest number of rows of a stage, S * A, for which plans compute whole stages, or only the rows
of a stage that can have changed, from packed counts."""

MAX_SMALL_COSTLY_STAGE: Final = 40
"""The same for a backup with terms, which are stored for single rows but not for whole stages, and
for pooled counts and a backup that reads visits, because no stage can then be skipped."""


class Config(NamedTuple):
    """Configuration of a learner's kernels, fixed before the first episode."""

    actions: int  # number of actions, A
    constants: Floats  # constants of the backup
    reads: int  # inputs of the backup, as an index into READS
    reads_visits: bool  # whether the backup reads the next stage's visit counts
    samples: bool  # whether the backup draws random numbers
    monotone: bool  # whether no Q may become larger than in the previous plan
    random_ties: bool  # whether ties are broken at random
    skips_explored: bool  # whether no action is chosen for a (step, state) that is explored
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
    # (H + 1) Number of states to plan for at each step, and the largest of these numbers. States
    # from this number on cannot be visited at the step. It is S if the world is not known.
    reach: Ints


class PlanTable(NamedTuple):
    """A plan: optimistic values, and the policy that is greedy with respect to them."""

    q: NDArray[np.float64]  # (H, S * A)
    v: NDArray[np.float64]  # (H + 1, S); the last row is zero
    actions: NDArray[np.int32]  # (H, S)
    top: NDArray[np.float64]  # (H + 1) largest v
    low: NDArray[np.float64]  # (H + 1) smallest v
    order: NDArray[np.int32]  # (H + 1, S) states by v, largest first


class Scratch(NamedTuple):
    """Working memory of incremental and full planning.

    Incremental planning increases `stamp` by 1 at each step h. A row or state is already in the
    list of the current step if its own stamp equals `stamp`; lists therefore need no clearing.
    Unlike other scratch, some arrays keep their content between two plans: the stamps; the
    constant arrays `state_of`, `all_rows` and `no_visits`; the levels and hints; the terms of the
    backup, `terms`, with `term_n`, the visits N' for which they were computed; and the counts in
    `packed` and `readers`.
    """

    rows: NDArray[np.int32]  # (S * A + 1) rows of this stage to back up; the last is not used
    out: NDArray[np.float64]  # (S * A) results of the backups
    row_stamp: NDArray[np.int64]  # (S * A) last stamp at which the row was listed
    states: NDArray[np.int32]  # (S + 1) states of this stage with a changed Q
    state_stamp: NDArray[np.int64]  # (S) last stamp at which the state was listed
    moved: NDArray[np.int32]  # (S) states of the next stage with a changed value
    tied: NDArray[np.int32]  # (S) number of tied actions of each state that has any
    uniforms: Floats  # (S) random numbers of these states
    stamp: NDArray[np.int64]  # (1) number of stages processed so far
    state_of: NDArray[np.int32]  # (S * A) state of each row
    all_rows: NDArray[np.int32]  # (S * A) 0, 1, 2, ...
    no_visits: NDArray[np.int64]  # (S) zeros: visits after the last step
    term_n: NDArray[np.int64]  # (slots) N' of the terms in each slot, 0 for none; see RowTerms
    terms: Floats  # (2, slots) the terms; (2, 0) if the backup has none
    levels: Floats  # (H, S * A) level of each row, see RowTerms; (H, 0) if levels are not used
    hints: Floats  # (H, 2 * S * A) hints of each row, see RowTerms; (H, 0) if there are none
    lanes: Floats  # working memory of rows computed several at a time; empty if it is not used
    weights: Floats  # (S * A * S) random weights of each row, see RowWeights; empty if not stored
    totals: Floats  # (S * A) sums of these weights; empty if they are not stored
    switched: NDArray[np.int64]  # (H) 1 where `store_stage` found switched actions
    packed: PackedCounts  # copy of the counts by stage, if whole stages are computed at once
    readers: Readers  # rows that read each state, if there are few rows


class LearnerState(NamedTuple):
    """All observations and the current plan of a learner, as plain arrays."""

    # Observed
    counts: Counts  # N' and M'
    reward_sums: RewardSums  # sums of observed rewards; empty if rewards are known
    inbox: Inbox  # steps not yet processed by a stepwise base; empty for other bases
    exploration: Exploration  # counts of the exploration rule, and the mask of actions to explore

    # Planned
    rewards: Floats  # (H, S * A) known or estimated rewards
    table: PlanTable
    epoch_counts: NDArray[np.int64]  # (rows) counts at the last plan
    memory: QMemory  # variables of a stepwise base; empty for other bases
    alpha: Floats  # (1) alpha of lazy updating in this epoch; infinity is active updating
    numbers: NDArray[np.int64]  # (3) PLANS, PLAN_DUE and SINCE_PLAN; or (5) with OWN and EPOCH

    # Observed since the last plan
    touched: Worklist  # rows with new observations, by stage
    new_rewards: Worklist  # rows with rewards not yet used for `rewards`, by stage

    # Scratch
    changed: Worklist  # indices h * S + s at which the policy changed, by step
    scratch: Scratch


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


def empty_scratch(
    shape: Shape,
    stages: int,
    packed_stages: int = 0,
    term_slots: int = 0,
    level_rows: int = 0,
    hints: int = 0,
    lanes: int = 0,
    weight_rows: int = 0,
) -> Scratch:
    """Return working memory for a problem of size `shape`, with `stages` stages of the counts.

    `packed_stages` is the number of stages of the packed counts, or 0 if there are no packed
    counts. `term_slots` is the number of slots for terms, or 0 if the backup has no terms.
    `level_rows` is the number of rows of a step whose levels are stored, or 0 if no levels are
    used. `hints` is the number of hints of a step, two for each row, or 0. `lanes` is the size of
    the working memory of rows that are computed several at a time, or 0. `weight_rows` is the
    number of rows whose weights are stored, or 0.
    """
    S, A = shape.states, shape.actions
    return Scratch(
        rows=np.zeros(S * A + 1, np.int32),
        out=np.zeros(S * A),
        row_stamp=np.zeros(S * A, np.int64),
        states=np.zeros(S + 1, np.int32),
        state_stamp=np.zeros(S, np.int64),
        moved=np.zeros(S, np.int32),
        tied=np.zeros(S, np.int32),
        uniforms=np.zeros(S),
        stamp=np.zeros(1, np.int64),
        state_of=np.repeat(np.arange(S, dtype=np.int32), A),
        all_rows=np.arange(S * A, dtype=np.int32),
        no_visits=np.zeros(S, np.int64),
        term_n=np.zeros(term_slots, np.int64),
        terms=np.zeros((2, term_slots)),
        levels=np.full((shape.horizon, level_rows), -np.inf),
        hints=np.full((shape.horizon, hints), -np.inf),
        lanes=np.zeros(lanes),
        weights=np.zeros(weight_rows * S),
        totals=np.zeros(weight_rows),
        switched=np.zeros(shape.horizon, np.int64),
        packed=empty_packed(packed_stages, S * A if packed_stages else 0),
        readers=empty_readers(stages, S * A, S),
    )


def stored_terms(problem: LearningProblem) -> RowTerms | None:
    """Return the terms of the backup of `problem`, or None if a learner stores no terms."""
    if problem.algorithm.planner is not None:
        return None
    backup = problem.backup_rule.backup
    assert isinstance(backup, Backup)
    return backup.terms if backup.compiled else None


def memory_for_lanes(shape: Shape, terms: RowTerms | None) -> int:
    """Return the size of the working memory of rows that are computed several at a time.

    It is 0 if a backup with the given `terms` computes one row after another.
    """
    if terms is not None and terms.back_up_lanes is not None:
        return lane_memory(shape.states)
    if terms is not None and terms.back_up_pair is not None:
        return pair_memory(shape.states * shape.actions)
    return 0


def has_levels(problem: LearningProblem) -> bool:
    """Return whether a learner of `problem` stores the level of each row; see `RowTerms`.

    It does if the backup returns levels, or if it reads the values above the mean of the
    successors, which is the level then.
    """
    if problem.algorithm.planner is not None:
        return False
    rule, terms = problem.backup_rule, stored_terms(problem)
    assert isinstance(rule.backup, Backup)
    if terms is not None and terms.has_level:
        return True
    return rule.reads == "above" and (rule.backup.compiled or not JIT)


def has_weights(problem: LearningProblem) -> bool:
    """Return whether a learner of `problem` stores random weights of each row; see `RowWeights`.

    It does if counts are pooled, so that the weights are used at several steps, and if there are at
    most MAX_WEIGHTS of them.
    """
    if problem.algorithm.planner is not None or problem.stages != "pooled":
        return False
    backup = problem.backup_rule.backup
    assert isinstance(backup, Backup)
    S, A = problem.shape.states, problem.shape.actions
    return backup.compiled and backup.weights is not None and S * A * S <= MAX_WEIGHTS


def plans_whole_stages(problem: LearningProblem) -> bool:
    """Return whether a learner of `problem` keeps packed counts, to compute whole stages at once.

    This is faster where most values change in every plan: if counts are pooled, or if S * A is at
    most MAX_SMALL_STAGE (MAX_SMALL_COSTLY_STAGE if the backup has terms or reads visits). It
    requires an elementwise, compiled backup, the option planning="auto" and a stage of at least
    BLOCK_ROWS rows.
    """
    if problem.algorithm.planner is not None or problem.algorithm.stepwise:
        return False
    backup = problem.backup_rule.backup
    assert isinstance(backup, Backup)
    shape = problem.shape
    rows = shape.states * shape.actions
    costly = backup.terms is not None or problem.backup_rule.reads_visits
    small = MAX_SMALL_COSTLY_STAGE if costly else MAX_SMALL_STAGE
    return (
        backup.compiled
        and backup.elementwise
        and problem.planning == "auto"
        and not has_levels(problem)  # the levels of whole stages are not stored
        and rows >= BLOCK_ROWS
        and (problem.stages == "pooled" or rows <= small)
    )


def empty_state(problem: LearningProblem, term_slots: int = TERM_SLOTS) -> LearnerState:
    """Return the initial state of a learner of `problem`, without observations or a plan.

    `term_slots` is the number of slots for terms of the backup, if it has any.
    """
    shape, stages, rows = problem.shape, problem.count_stages, problem.rows
    base, updater = problem.algorithm, problem.updater
    H, S = shape.horizon, shape.states
    reward_rows = rows if problem.unknown_rewards else 0
    alpha = updater.lazy_alpha()
    exploration = updater.exploration(shape, base.exploration_rate)
    table, terms = empty_table(shape), stored_terms(problem)
    if base.stepwise:
        initialise_values(problem.backup_rule.constants, table.q, table.v)
        if shape.is_restricted:
            table.q[:] = np.where(np.isnan(shape.fixed_values), table.q, shape.fixed_values)
            table.v[:, shape.is_terminal] = 0.0
    return LearnerState(
        counts=empty_counts(shape, stages),
        reward_sums=empty_sums(reward_rows),
        inbox=empty_inbox(H if base.stepwise else 0),
        exploration=exploration or no_exploration(shape, base.exploration_rate),
        rewards=problem.initial_rewards(),
        table=table,
        epoch_counts=np.zeros(rows, np.int64),
        memory=empty_memory(rows if base.stepwise else 0),
        alpha=np.array([alpha if isinstance(alpha, float) else np.inf]),
        numbers=np.zeros(EPOCH + 1 if alpha is None else SINCE_PLAN + 1, np.int64),
        touched=empty_worklist(groups=stages, items=rows),
        new_rewards=empty_worklist(groups=stages, items=reward_rows),
        changed=empty_worklist(groups=H, items=H * S),
        scratch=empty_scratch(
            shape,
            stages,
            stages if plans_whole_stages(problem) else 0,
            term_slots if terms else 0,
            S * shape.actions if has_levels(problem) else 0,
            2 * S * shape.actions if terms and terms.has_hint else 0,
            memory_for_lanes(shape, terms),
            S * shape.actions if has_weights(problem) else 0,
        ),
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
            delta=base.failure_probability,
            scale=base.bonus_scale,
        )
    fixed = Config(
        actions=problem.shape.actions,
        constants=np.zeros(0),
        reads=READS_ORDER,
        reads_visits=False,
        samples=False,
        monotone=False,
        random_ties=base.random_ties,
        skips_explored=False,
        incremental=False,
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
        reach=np.full(problem.shape.horizon + 1, problem.shape.states),
    )
    if base.planner is not None:
        return fixed
    rule = problem.backup_rule
    assert isinstance(rule.backup, Backup)
    compiled = rule.backup.compiled or not JIT
    return fixed._replace(
        constants=rule.constants,
        reads=READS.index(rule.reads),
        reads_visits=rule.reads_visits,
        samples=rule.samples,
        monotone=base.is_monotone and not rule.samples,  # a sample is no bound on the next
        incremental=compiled and problem.planning != "full" and not rule.samples,
    )


def with_room_for(state: LearnerState, steps: int) -> LearnerState:
    """Return `state` with free capacity for `steps` more steps of feedback, enlarged if needed."""
    inbox = with_inbox_room(state.inbox, steps) if state.memory.n.size else state.inbox
    return state._replace(counts=with_room(state.counts, steps), inbox=inbox)
