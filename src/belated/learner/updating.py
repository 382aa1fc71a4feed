"""The operations on a learner state: absorb feedback, and plan.

These kernels are the only ones that change a `LearnerState`. Feedback is absorbed step by step; a
plan is due when the trigger of the updater holds for a row that has been absorbed.
"""

from belated.compiled import inlined, interpreted, kernel
from belated.episode import Floats, Ints
from belated.learner.backup import Batch
from belated.learner.bases.q_learning import learn, post
from belated.learner.counts import add, has_room
from belated.learner.exploration import count_visit
from belated.learner.incremental import choose_actions, plan_changes
from belated.learner.planning import back_up, plan_all
from belated.learner.rewards import add_reward, update_rewards
from belated.learner.state import PLAN_DUE, PLANS, SINCE_PLAN, Config, LearnerState
from belated.learner.updaters.lazy import has_grown
from belated.theory.compiled import alpha_for
from belated.worklist import END, clear, put, take


@inlined
def absorb_transition(state: LearnerState, h: int, s: int, a: int, y: int) -> None:
    """Count a transition.

    Parameters
    ----------
    state : LearnerState
        Changed in place; its counts must have room.
    h, s, a, y : int
        Step, state, action and next state.
    """
    S = state.table.actions.shape[1]
    A = state.table.q.shape[1] // S
    stage = 0 if state.counts.visits.shape[0] == 1 else h
    row = (stage * S + s) * A + a
    add(state.counts, row, stage, s, y, 1)
    put(state.touched, stage, row)


@inlined
def absorb_delayed(
    config: Config, state: LearnerState, h: int, s: int, a: int, y: int, reward: float
) -> None:
    """Absorb the delayed part of a step, after its transition, and evaluate the trigger.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        Changed in place; its inbox must have room.
    h, s, a, y : int
        Step, state, action and next state.
    reward : float
        Observed reward; ignored where rewards are known.
    """
    S = state.table.actions.shape[1]
    A = state.table.q.shape[1] // S
    stage = 0 if state.counts.visits.shape[0] == 1 else h
    row = (stage * S + s) * A + a
    if config.unknown_rewards:
        add_reward(state.reward_sums, row, reward)
        put(state.new_rewards, stage, row)
    n = state.reward_sums.n[row] if config.late_rewards else state.counts.n[row]
    if has_grown(n, state.epoch_counts[row], state.alpha[0]):
        state.numbers[PLAN_DUE] = 1
    if state.exploration.visits.size > 0:
        count_visit(state.exploration, h, s, a, state.changed)
    if config.stepwise:
        known = state.rewards[h, s * A + a]
        post(state.inbox, row, y, reward if config.unknown_rewards else known)


@kernel
def absorb(
    config: Config,
    state: LearnerState,
    first: int,
    steps: Ints,
    states: Ints,
    actions: Ints,
    successors: Ints,
    rewards: Floats,
    transitions: bool,
    delayed: bool,
) -> int:
    """Absorb steps of feedback, as long as there is room.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        Changed in place.
    first : int
        Index of the first step to absorb.
    steps, states, actions, successors : Ints
        The steps, in order of arrival.
    rewards : Floats
        Their rewards, or an empty array where rewards are known.
    transitions, delayed : bool
        Whether the feedback brings transitions, and whether it brings the delayed part.

    Returns
    -------
    int
        Index of the first step that was not absorbed because there was no room for it.
    """
    for i in range(first, steps.size):
        if transitions and not has_room(state.counts, 1):
            return i
        if delayed and config.stepwise and state.inbox.used[0] == state.inbox.row.size:
            return i
        h, s, a, y = steps[i], states[i], actions[i], successors[i]
        if transitions:
            absorb_transition(state, h, s, a, y)
        if delayed:
            absorb_delayed(config, state, h, s, a, y, rewards[i] if rewards.size > 0 else 0.0)
    return steps.size


@inlined
def start_plan(config: Config, state: LearnerState, refresh: bool) -> int:
    """Update the reward estimates before a plan.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        Changed in place.
    refresh : bool
        Whether late rewards may be used; False keeps the estimates of the last epoch.

    Returns
    -------
    int
        Number of the plan, which addresses its random numbers.
    """
    plan = state.numbers[PLANS] + (config.instance << 32)
    if config.unknown_rewards and refresh:
        if config.late_rewards:  # the epoch is one of rewards
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
    return plan


@inlined
def finish_plan(config: Config, state: LearnerState, refresh: bool, mean_delay: float) -> None:
    """Begin a new epoch after a plan.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    state : LearnerState
        Changed in place.
    refresh : bool
        Whether late rewards were used.
    mean_delay : float
        Mean delay observed so far, from which alpha may be chosen.
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
        if config.auto_alpha:
            state.alpha[0] = alpha_for(config.alpha_terms, mean_delay)


@inlined
def make_plan(
    batch: Batch, config: Config, state: LearnerState, refresh: bool, mean_delay: float
) -> bool:
    """Plan from everything absorbed so far.

    Parameters
    ----------
    batch : Batch
        Backup of the base for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        Changed in place.
    refresh : bool
        Whether late rewards may be used; False keeps the estimates of the last epoch.
    mean_delay : float
        Mean delay observed so far.

    Returns
    -------
    bool
        Whether `state.changed` holds every cell whose action changed; if not, any may have.
    """
    first = state.numbers[PLANS] == 0
    plan = start_plan(config, state, refresh)
    if config.stepwise:
        learn(config.constants, state.inbox, state.memory, state.table.q, state.table.v)
        for h in range(state.table.actions.shape[0]):
            choose_actions(config, state.table, plan, h, state.changed)
    elif config.incremental and not first:
        plan_changes(batch, config, state, plan)
    else:
        plan_all(batch, config, state, plan)
    finish_plan(config, state, refresh, mean_delay)
    return not first and (config.stepwise or config.incremental)


make_plan_in_python = interpreted(make_plan, back_up, plan_all)
"""`make_plan` for a backup that is a plain Python function."""
