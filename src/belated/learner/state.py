"""The state of a learner as one record of plain arrays, and the configuration of its kernels.

A `LearnerState` holds all observations and the current plan of a learner. The compiled engine, the
`Learner` class and the service all update this record with the kernels of
`belated.learner.updating`. A snapshot is a copy of the record. Kernels change its arrays in place
and allocate no memory; arrays that must grow are replaced between two calls of kernels.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import JIT
from belated.episode import Bools, Floats, Shape
from belated.learner.backup import READS, READS_ORDER, Backup, RowTerms
from belated.learner.bases.base import OwnState, empty_own_state, with_queue_room
from belated.learner.counts import Counts, empty_counts, with_room
from belated.learner.exploration import Exploration, no_exploration
from belated.learner.problem import LearningProblem
from belated.learner.rewards import RewardEstimator, RewardSums, empty_sums
from belated.theory import lazy_terms
from belated.worklist import Worklist, empty_worklist

# Indices into `LearnerState.numbers`:
PLANS: Final = 0  # number of plans computed
PLAN_DUE: Final = 1  # 1 if a plan is due because of new feedback
SINCE_PLAN: Final = 2  # number of items of feedback since the last plan
# These two exist only if the updater has a condition other than that of Lazy:
OWN: Final = 3  # number of episodes, started since the last plan, that have arrived completely
EPOCH: Final = 4  # number of plans that the updater required, including the first

# Indices into `Scratch.progress`:
NEXT_STEP: Final = 0  # the step after the next one to plan; 0 if no plan is unfinished
MOVED: Final = 1  # number of states at NEXT_STEP whose value changed, in `Scratch.moved`
WHOLE: Final = 2  # 1 if every row of the next step to plan is stale

MAX_SAMPLES: Final = 1 << 24
"""Largest number of samples that a plan keeps: 128 MiB of memory."""


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
    terminal: Bools  # (S) mask of the states in which an episode ends; empty if there are none


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
    terms = stored_terms(problem)
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
        term_n=np.zeros(problem.rows if terms else 0, np.int64),
        terms=np.zeros((2, problem.rows if terms else 0)),
        levels=np.full((H, S * A if has_levels(problem, terms) else 0), -np.inf),
        samples=np.zeros(kept_samples(problem)),
    )


def kept_samples(problem: LearningProblem) -> int:
    """Return the size of `Scratch.samples`; see `BackupRule.kept_samples`."""
    if problem.algorithm.planner is not None or problem.stages != "pooled":
        return 0
    size = problem.rows * problem.backup_rule.kept_samples
    return size if size <= MAX_SAMPLES else 0


def stored_terms(problem: LearningProblem) -> RowTerms | None:
    """Return the terms of the backup of `problem`, or None if a learner stores no terms."""
    if problem.algorithm.planner is not None:
        return None
    backup = problem.backup_rule.backup
    assert isinstance(backup, Backup)
    return backup.terms if backup.compiled else None


def has_levels(problem: LearningProblem, terms: RowTerms | None) -> bool:
    """Return whether a learner of `problem` stores the level of each row; see `RowTerms`.

    It does if the backup returns levels, or if it reads the values above the mean of the
    successors, which is the level then. `terms` are those of the backup.
    """
    if problem.algorithm.planner is not None:
        return False
    if terms is not None and terms.has_level:
        return True
    rule = problem.backup_rule
    assert isinstance(rule.backup, Backup)
    return rule.reads == "above" and (rule.backup.compiled or not JIT)


def empty_state(problem: LearningProblem) -> LearnerState:
    """Return the initial state of a learner of `problem`, without observations or a plan."""
    shape, stages, rows = problem.shape, problem.count_stages, problem.rows
    base, updater = problem.algorithm, problem.updater
    H, S = shape.horizon, shape.states
    reward_rows = rows if problem.unknown_rewards else 0
    alpha = updater.lazy_alpha()
    exploration = updater.exploration(shape, base.exploration_rate)
    table = empty_table(shape)
    hooks = None if base.planner is not None else problem.backup_rule.hooks
    if hooks is not None:
        hooks.initialise(problem.backup_rule.constants, table.q, table.v)
        if shape.is_restricted:
            table.q[:] = np.where(np.isnan(shape.fixed_values), table.q, shape.fixed_values)
            table.v[:, shape.is_terminal] = 0.0
        table.actions[:] = table.q.reshape(shape.table).argmax(axis=2)
    return LearnerState(
        counts=empty_counts(shape, stages),
        reward_sums=empty_sums(reward_rows),
        own=empty_own_state(hooks, H),
        exploration=exploration or no_exploration(shape, base.exploration_rate),
        rewards=problem.initial_rewards(),
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
    S = problem.shape.states
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
        terminal=problem.shape.is_terminal[: S if problem.shape.terminal else 0].copy(),
    )
    if base.planner is not None:
        return fixed
    rule = problem.backup_rule
    assert isinstance(rule.backup, Backup)
    compiled = rule.backup.compiled or not JIT
    return fixed._replace(
        constants=np.array(rule.constants, np.float64),
        reads=READS.index(rule.reads),
        reads_visits=rule.reads_visits,
        samples=rule.samples,
        monotone=base.is_monotone and not rule.samples,  # a sample is no bound on the next
        incremental=compiled and problem.planning != "full" and not rule.samples,
    )


def with_room_for(state: LearnerState, steps: int) -> LearnerState:
    """Return `state` with free capacity for `steps` more steps of feedback, enlarged if needed."""
    counts, own = with_room(state.counts, steps), with_queue_room(state.own, steps)
    return state._replace(counts=counts, own=own)
