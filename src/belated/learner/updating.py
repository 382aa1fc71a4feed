"""The two operations on a learner state: add feedback, and plan.

Feedback is added step by step. Under lazy updating, a
plan becomes due when the count of a row has grown by a given factor since the last plan.
"""

from belated.compiled import dereference, inlined, kernel, reference
from belated.episode import Floats, Ints
from belated.learner.exploration import count_visit
from belated.learner.planning.loops import Loops
from belated.learner.planning.rows import plan_rows
from belated.learner.rewards import add_reward, update_rewards
from belated.learner.state import (
    EPOCH,
    NEXT_STEP,
    OWN,
    PLAN_DUE,
    PLANS,
    SINCE_PLAN,
    Config,
    LearnerRecord,
    LearnerState,
    add,
    has_room,
    row_of,
)
from belated.learner.updaters.lazy import has_grown
from belated.theory import alpha_for
from belated.worklist import END, clear, put, take

minimize_bound = kernel(alpha_for)


@inlined
def absorb_transition(config: Config, state: LearnerState, h: int, s: int, a: int, y: int) -> None:
    """Add an observed transition to the counts of a learner.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner, changed in place; `state.counts` must have free capacity.
    h, s, a, y : int
        Step, state, action and next state.
    """
    stage = 0 if state.counts.visits.shape[0] == 1 else h
    row = row_of(config, state.counts, h, s, a)
    add(state.counts, row, stage, s, y, 1)
    put(state.touched, stage, row)


@inlined
def absorb_delayed(
    loops: Loops,
    pointer: LearnerRecord,
    config: Config,
    state: LearnerState,
    h: int,
    s: int,
    a: int,
    y: int,
    reward: float,
) -> None:
    """Process the delayed part of a step, and check whether a plan is now due.

    The transition must have been added before, with `absorb_transition`. The delayed part consists
    of up to three items: the reward, if rewards are unknown; the visit, if the exploration rule
    counts visits; and the step itself, if the base has hooks.

    Parameters
    ----------
    loops : Loops
        Functions of the base.
    pointer : LearnerRecord
        Pointer to the record of `config` and `state`.
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner, changed in place; the queue of the base must have free capacity.
    h, s, a, y : int
        Step, state, action and next state.
    reward : float
        Observed reward; ignored if rewards are known.
    """
    row = row_of(config, state.counts, h, s, a)
    if config.unknown_rewards:
        add_reward(state.reward_sums, row, reward)
        put(state.new_rewards, 0 if state.counts.visits.shape[0] == 1 else h, row)
    n = state.reward_sums.n[row] if config.late_rewards else state.counts.n[row]
    if has_grown(n, state.epoch_counts[row], state.alpha[0]):
        state.numbers[PLAN_DUE] = 1
    if state.exploration.visits.size > 0:
        count_visit(state.exploration, config.fixed, h, s, a, state.changed)
    if config.stepwise:
        known = state.rewards[h, s * config.actions + a]
        loops.absorb(pointer, row, y, reward if config.unknown_rewards else known)


@kernel
def absorb(
    loops: Loops,
    record: LearnerRecord,
    first: int,
    steps: Ints,
    states: Ints,
    actions: Ints,
    successors: Ints,
    rewards: Floats,
    transitions: bool,
    delayed: bool,
) -> int:
    """Add steps of feedback to a learner state until its capacity is exhausted.

    Parameters
    ----------
    loops : Loops
        Functions of the base.
    record : LearnerRecord
        Record of the learner, whose state is changed in place.
    first : int
        Index, in the following arrays, of the first step to add.
    steps, states, actions, successors : Ints
        Step number, state, action and next state of each step, in order of arrival.
    rewards : Floats
        Reward of each step, or an empty array if rewards are known.
    transitions : bool
        Whether to count the transitions.
    delayed : bool
        Whether to process the delayed part of each step; see `absorb_delayed`.

    Returns
    -------
    int
        Index of the first step that was not added for lack of capacity, or the number of steps if
        all were added.
    """
    config, state, pointer = record.config, record.state, reference(record)
    for i in range(first, steps.size):
        if transitions and not has_room(state.counts, 1):
            return i
        if delayed and config.stepwise and state.own.queued[0] == len(state.own.queue):
            return i
        h, s, a, y = steps[i], states[i], actions[i], successors[i]
        if transitions:
            absorb_transition(config, state, h, s, a, y)
        if delayed:
            reward = rewards[i] if rewards.size > 0 else 0.0
            absorb_delayed(loops, pointer, config, state, h, s, a, y, reward)
    return steps.size


@inlined
def start_plan(config: Config, state: LearnerState, refresh: bool) -> None:
    """Update the estimated rewards before a plan if `refresh`.

    If `refresh` and only rewards are late, the counts of observed rewards are also stored as the
    counts at the start of the new epoch.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner, changed in place.
    refresh : bool
        Whether to update the estimated rewards. If False, late rewards that arrived in this epoch
        are not used yet.
    """
    plan = state.numbers[PLANS] + (config.instance << 32)
    if config.unknown_rewards and refresh:
        if config.late_rewards:  # the lazy trigger compares counts of rewards
            for stage in range(state.new_rewards.head.size):
                row = state.new_rewards.head[stage]
                while row != END:
                    state.epoch_counts[row] = state.reward_sums.n[row]
                    row = state.new_rewards.after[row]
        update_rewards(
            config.estimator,
            state.reward_sums,
            state.new_rewards,
            config.seed,
            plan,
            state.rewards,
            state.touched,
        )


@inlined
def finish_plan(config: Config, state: LearnerState, refresh: bool, mean_delay: float) -> None:
    """Complete a plan and, if `refresh`, start a new epoch.

    The list of rows with new observations is emptied. Their counts are stored as the counts at the
    start of the epoch; if only rewards are late, `start_plan` has stored these counts. If alpha is
    automatic, it is chosen for the new epoch.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner, changed in place.
    refresh : bool
        Whether the estimated rewards were updated for this plan. False only if rewards alone are
        late, and new paths required a plan before the updater did. The current epoch then continues
        with the same alpha.
    mean_delay : float
        Mean delay observed so far, in episodes; used to choose alpha.
    """
    if config.late_rewards:
        clear(state.touched)
    else:
        for stage in range(state.touched.head.size):
            row = take(state.touched, stage)
            while row != END:
                state.epoch_counts[row] = state.counts.n[row]
                row = take(state.touched, stage)
    state.numbers[PLANS] += 1
    state.numbers[PLAN_DUE] = 0
    if refresh:
        state.numbers[SINCE_PLAN] = 0
        if state.numbers.size > EPOCH:
            state.numbers[OWN] = 0
            state.numbers[EPOCH] += 1
        if config.auto_alpha:
            state.alpha[0] = minimize_bound(config.alpha_terms, mean_delay)


@kernel
def make_plan(
    loops: Loops, pointer: LearnerRecord, refresh: bool, mean_delay: float, limit: int
) -> bool:
    """Compute a plan from all feedback so far.

    The index h * S + s of each (step, state) whose action changes is added to `state.changed`.

    Parameters
    ----------
    loops : Loops
        Functions of the base.
    pointer : LearnerRecord
        Pointer to the record of the learner, whose state is changed in place.
    refresh : bool
        Whether to update the estimated rewards. If False, late rewards that arrived in this epoch
        are not used yet.
    mean_delay : float
        Mean delay observed so far, in episodes.
    limit : int
        Number of row backups from which on the plan stops; see `plan_rows`.

    Returns
    -------
    bool
        Whether the plan is complete. If not, the next call with the same arguments goes on with it.
    """
    record = dereference(pointer)
    config, state = record.config, record.state
    plan = state.numbers[PLANS] + (config.instance << 32)
    if state.scratch.progress[NEXT_STEP] == 0:
        start_plan(config, state, refresh)
    if config.stepwise:
        loops.plan(pointer, plan)
    else:
        every_row = not config.incremental or state.numbers[PLANS] == 0
        if not plan_rows(loops, pointer, plan, every_row, limit):
            return False
    finish_plan(config, state, refresh, mean_delay)
    return True


@kernel
def plan_now(
    loops: Loops, record: LearnerRecord, refresh: bool, mean_delay: float, limit: int
) -> bool:
    """Call `make_plan`, from Python, for a `record` that is passed by value."""
    return make_plan(loops, reference(record), refresh, mean_delay, limit)
