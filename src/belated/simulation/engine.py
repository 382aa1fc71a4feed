"""The compiled engine, whose results are bit-identical to those of the reference loop.

`advance` plays a block of episodes and updates a `RunState` of plain arrays. The size of the blocks
does not affect the results. Between two blocks, the caller can report progress and enlarge arrays.

The feedback in flight, of an episode or of one of its steps, is stored in slots, which are used
again after it has arrived. Slots with the same arrival i + tau_i are a linked list in the order of
the episodes and steps, and so are the free slots. The number of slots grows with the feedback in
flight, not with the number of episodes.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel, reference
from belated.compiled.budget import UNLIMITED
from belated.delays.selector import BY_RETURN, Selector, select_group
from belated.episode import Bools, Floats, Ints
from belated.exact.values import Model, PolicyArrays, Predecessors, evaluate, reevaluate
from belated.learner.exploration import draw_action, explores
from belated.learner.planning.loops import Loops
from belated.learner.problem import LearningProblem
from belated.learner.state import (
    EPOCH,
    OWN,
    PLAN_DUE,
    PLANS,
    SINCE_PLAN,
    Config,
    LearnerRecord,
    LearnerState,
    empty_state,
    has_room,
    row_of,
)
from belated.learner.updaters.trigger import Callback, TriggerCall
from belated.learner.updaters.updater import Arrival
from belated.learner.updating import absorb_delayed, absorb_transition, make_plan
from belated.mdp.model import draw, draw_reward, mean_reward
from belated.randomness import REWARD, START, TRANSITION, uniform
from belated.simulation.reference import OPTIMISM_TOLERANCE
from belated.worklist import END, clear, is_empty

# Indices of the counters in `RunState.tally`:
MISSING: Final = 0  # number of episodes in flight, S_k
MAX_MISSING: Final = 1  # largest S_k so far
OPTIMISM_BROKEN: Final = 2  # number of episodes in which optimism failed
LAST_EXPLORED: Final = 3  # last episode with an explored step
WAITED: Final = 4  # sum of S_k over the episodes so far
STARTED: Final = 5  # number of episodes started
PLANNED: Final = 6  # number of episodes started before the last plan
ARRIVED: Final = 7  # number of items of feedback that the trigger has not been evaluated for
NEW_ROWS: Final = 8  # number of their rows, in `RunState.new_rows`
LONGEST: Final = 9  # longest delay so far; counted only if delays depend on the episode
TALLY_SIZE: Final = 10  # number of counters


class Truth(NamedTuple):
    """The simulated world and its optimal value, which are not available to the learner."""

    model: Model
    before: Predecessors
    cum: Floats  # this field and the next: see MDP
    start_cum: Floats
    draws: int  # index into DRAWS
    allowed: Bools  # (H, S, A) mask of the allowed actions, or NO_MASK
    v_star: Floats  # (S) V*_1


class RunOptions(NamedTuple):
    """Options of a run that are not part of the learner's configuration."""

    last: int  # last episode; feedback that arrives after it is dropped
    plans: bool  # whether to plan; False keeps the first plan, to measure all other costs
    triggered: bool  # whether the trigger decides when to plan, instead of the condition of Lazy
    every_start: bool  # whether the trigger is evaluated even if no feedback has arrived
    trigger_constants: Floats  # constants of the trigger
    min_delay: int  # delay in episodes before which no feedback is counted
    v_star: Floats  # (H, S) V*, to check optimism everywhere; empty to check it at s_1 only
    selector: Selector  # rule by which an episode selects one of several delays


class CompiledQueue(NamedTuple):
    """Feedback in flight, as plain arrays."""

    first: NDArray[np.int32]  # (episodes) first slot for each arrival, or END
    last: NDArray[np.int32]  # (episodes) last slot for each arrival
    after: NDArray[np.int32]  # (capacity) next slot of the same list, or END
    free: NDArray[np.int64]  # (2) first free slot, or END; and the number of free slots
    number: NDArray[np.int64]  # (capacity) i for episode i, or i H + h for its step h
    states: NDArray[np.int32]  # (capacity, steps + 1)
    actions: NDArray[np.int32]  # (capacity, steps)
    rewards: NDArray[np.float64]  # (capacity, steps), or (0, steps) if rewards are known


class RunState(NamedTuple):
    """State of a run: the learner, the feedback in flight, and the exact value of the policy."""

    learner: LearnerState
    queue: CompiledQueue  # feedback in flight
    v_pi: Floats  # (H + 1, S) exact value of the current policy
    tally: NDArray[np.int64]  # (TALLY_SIZE) counters
    dropped: NDArray[np.int64]  # (rows) number of visits whose feedback arrives after the run
    outstanding: NDArray[np.int32]  # (episodes) steps in flight; empty if delays are per episode
    states: Ints  # (H + 1) states of the episode being played
    actions: Ints  # (H) actions of the episode being played
    rewards: Floats  # (H) rewards of the episode being played
    new_rows: Ints  # rows of the feedback that has arrived, for the trigger; empty if there is none


class Block(NamedTuple):
    """Episodes to play, and arrays that receive one entry for each of them."""

    first: int  # number of the first, counted from 1 over the episodes that this instance plays
    labels: Ints  # (episodes) numbers in the whole run, part of the key of random numbers
    delays: Ints  # (episodes, pieces * groups) delays of the feedback; see `run_compiled`
    gaps: Floats  # (episodes) regret of each episode, V*_1(s_1) - V^pi_1(s_1)
    alphas: Floats  # (episodes) alpha of lazy updating, or an empty array
    policies: NDArray[np.int32]  # (episodes, H, S) policies, or an empty array


def empty_run(problem: LearningProblem, *, pieces: int, episodes: int) -> RunState:
    """Return the state of a run before the first plan.

    Parameters
    ----------
    problem : LearningProblem
        Problem of the learner.
    pieces : int
        Number of delays per episode: 1, or H if each step has its own delay.
    episodes : int
        Number of episodes to play: those of the whole run or, with MultiInstance, of one instance.

    Returns
    -------
    RunState
        Initial state.
    """
    H, S = problem.shape.horizon, problem.shape.states
    queue = empty_queue(episodes, H // pieces, rewards=problem.unknown_rewards)
    return RunState(
        learner=empty_state(problem),
        queue=queue,
        v_pi=np.zeros((H + 1, S)),
        tally=np.zeros(TALLY_SIZE, np.int64),
        dropped=np.zeros(problem.rows, np.int64),
        outstanding=np.zeros(episodes if pieces > 1 else 0, np.int32),
        states=np.zeros(H + 1, np.int64),
        actions=np.zeros(H, np.int64),
        rewards=np.zeros(H),
        new_rows=np.zeros(0 if problem.trigger_rule is None else queue.actions.size, np.int64),
    )


def empty_queue(
    episodes: int, steps: int, *, rewards: bool, capacity: int = 8, start: int = 0
) -> CompiledQueue:
    """Return an empty queue.

    Parameters
    ----------
    episodes : int
        Number of episodes of the run; all arrivals are smaller.
    steps : int
        Number of steps in each slot: H for whole episodes, or 1 for single steps.
    rewards : bool
        Whether the feedback includes rewards.
    capacity : int
        Number of slots.
    start : int
        First free slot; the slots before it are in use.

    Returns
    -------
    CompiledQueue
        Queue without feedback.
    """
    return CompiledQueue(
        first=np.full(episodes, END, np.int32),
        last=np.full(episodes, END, np.int32),
        after=np.append(np.arange(1, capacity), END).astype(np.int32),
        free=np.array([start, capacity - start]),
        number=np.zeros(capacity, np.int64),
        states=np.zeros((capacity, steps + 1), np.int32),
        actions=np.zeros((capacity, steps), np.int32),
        rewards=np.zeros((capacity if rewards else 0, steps)),
    )


def enlarge(queue: CompiledQueue) -> CompiledQueue:
    """Return a copy of `queue` with twice the capacity."""
    capacity = queue.after.size
    (arrivals,), (_, steps) = queue.first.shape, queue.actions.shape
    larger = empty_queue(
        arrivals, steps, rewards=len(queue.rewards) > 0, capacity=2 * capacity, start=capacity
    )
    for name in CompiledQueue._fields:
        if name != "free":
            old = getattr(queue, name)
            getattr(larger, name)[: len(old)] = old
    larger.after[-1] = queue.free[0]
    larger.free[1] += queue.free[1]
    return larger


@inlined
def push(queue: CompiledQueue, number: int, arrival: int) -> int:
    """Add feedback to `queue`, which must have a free slot, and return the index of its slot.

    The caller stores the feedback in the slot. Feedback of episode i with delay tau_i has the
    `arrival` i + tau_i: it is usable from the start of the next episode on. `number` identifies it.
    """
    slot = queue.free[0]
    queue.free[0] = queue.after[slot]
    queue.free[1] -= 1
    queue.number[slot] = number
    queue.after[slot] = END
    if queue.first[arrival] == END:
        queue.first[arrival] = slot
    else:
        queue.after[queue.last[arrival]] = slot
    queue.last[arrival] = slot
    return int(slot)


@inlined
def pop(queue: CompiledQueue, arrival: int) -> int:
    """Remove the first feedback with this `arrival` from `queue`, and return its slot.

    There must be some. The slot keeps the feedback until the next `push`.
    """
    slot = queue.first[arrival]
    queue.first[arrival] = queue.after[slot]
    queue.after[slot] = queue.free[0]
    queue.free[0] = slot
    queue.free[1] += 1
    return int(slot)


@inlined
def evaluate_plan(truth: Truth, learner: LearnerState, v_pi: Floats) -> None:
    """Update the exact value of the policy after a plan.

    Parameters
    ----------
    truth : Truth
        Simulated world.
    learner : LearnerState
        State of the learner; its list of changed actions is emptied.
    v_pi : Floats
        (H + 1, S) exact value of the policy, changed in place.
    """
    rule, changed = learner.exploration, learner.changed
    policy = PolicyArrays(learner.table.actions, rule.explore, rule.epsilon, truth.allowed)
    if learner.numbers[PLANS] == 1:
        evaluate(truth.model, policy, v_pi)
        clear(changed)
    elif not is_empty(changed):  # the call is expensive in small worlds
        reevaluate(truth.model, truth.before, policy, changed, v_pi, learner.scratch.moved)


@inlined
def send(
    config: Config, run: RunState, length: int, last: int, k: int, piece: int, delay: int
) -> None:
    """Add feedback of the episode just played to the queue.

    Feedback that will not be usable in any episode of the run is dropped: it is not queued, and its
    visits are counted in `run.dropped`.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    run : RunState
        State of the run, changed in place; its queue must have free capacity.
    length : int
        Number of steps of the episode.
    last : int
        Number of the last episode of the run.
    k : int
        Number of the episode just played.
    piece : int
        Step whose feedback is added if each step has its own delay; 0 for a whole episode.
    delay : int
        Delay of this feedback, in episodes.
    """
    H = run.actions.size
    queue = run.queue
    steps = queue.actions.shape[1]
    first = piece * steps
    if k + delay >= last:
        for h in range(first, min(first + steps, length)):
            run.dropped[row_of(config, run.learner.counts, h, run.states[h], run.actions[h])] += 1
        return
    slot = push(queue, k if steps == H else k * H + piece, k + delay)
    for j in range(steps):
        queue.states[slot, j] = run.states[first + j]
        queue.actions[slot, j] = run.actions[first + j]
        if config.unknown_rewards:
            queue.rewards[slot, j] = run.rewards[first + j]
    queue.states[slot, steps] = run.states[first + steps]


@inlined
def receive(loops: Loops, pointer: LearnerRecord, config: Config, run: RunState, k: int) -> None:
    """Move the first feedback that is usable from the start of episode `k` on to the learner.

    `loops` are the functions of the base, `pointer` is that of the record of the learner, and
    `config` its configuration. There must be
    such feedback in the queue of `run`, and the learner must have free capacity for it.
    """
    queue, learner = run.queue, run.learner
    H = run.actions.size
    steps = queue.actions.shape[1]
    slot = pop(queue, k - 1)
    number = queue.number[slot]
    # Add its steps to the learner state.
    first = 0 if steps == H else number % H
    for j in range(steps):
        if config.terminal[queue.states[slot, j]]:
            break
        s = int(queue.states[slot, j])
        a = int(queue.actions[slot, j])
        y = int(queue.states[slot, j + 1])
        if not config.late_rewards:
            absorb_transition(config, learner, first + j, s, a, y)
        reward = queue.rewards[slot, j] if config.unknown_rewards else 0.0
        absorb_delayed(loops, pointer, config, learner, first + j, s, a, y, reward)
        if run.new_rows.size > 0:
            run.new_rows[run.tally[NEW_ROWS]] = row_of(config, learner.counts, first + j, s, a)
            run.tally[NEW_ROWS] += 1
    run.tally[ARRIVED] += 1
    # Count the episode as observed if all of its feedback has arrived.
    episode = number if steps == H else number // H
    if steps < H:
        run.outstanding[episode - 1] -= 1
        if run.outstanding[episode - 1] > 0:
            return
    run.tally[MISSING] -= 1
    if learner.numbers.size > OWN and episode > run.tally[PLANNED]:
        learner.numbers[OWN] += 1


@inlined
def evaluate_trigger(
    trigger: Callback, config: Config, options: RunOptions, learner: LearnerState, run: RunState
) -> None:
    """Evaluate the trigger if feedback has arrived, and store whether a plan is due.

    `learner.numbers[PLAN_DUE]` is set to 1 or 0. If no feedback has arrived, it is 0, unless the
    trigger is evaluated at the start of every episode.

    Parameters
    ----------
    trigger : Callback
        Function that evaluates the trigger.
    config : Config
        Configuration of the learner.
    options : RunOptions
        Options of the run, with the constants of the trigger.
    learner : LearnerState
        State of the learner, changed in place.
    run : RunState
        State of the run; its list of rows that have arrived is emptied.
    """
    tally, constants = run.tally, options.trigger_constants
    learner.numbers[PLAN_DUE] = 0
    if tally[ARRIVED] > 0 or options.every_start:
        learner.numbers[SINCE_PLAN] += tally[ARRIVED]
        counts = learner.reward_sums.n if config.late_rewards else learner.counts.n
        arrival = Arrival(
            counts,
            learner.epoch_counts,
            run.new_rows[: tally[NEW_ROWS]],
            tally[ARRIVED],
            learner.numbers[SINCE_PLAN],
            math.inf,
            tally[STARTED] - tally[PLANNED],
            learner.numbers[OWN],
            learner.numbers[EPOCH],
            0.0,
            0.0,
        )
        call = TriggerCall(constants, arrival)
        learner.numbers[PLAN_DUE] = trigger(reference(call))
    tally[NEW_ROWS] = 0


@inlined
def play(config: Config, truth: Truth, run: RunState, label: int, draws_rewards: bool) -> int:
    """Play one episode and store its states, actions and rewards in the run state.

    If the episode reaches a terminal state, it ends, and the remaining states are stored as this
    state.

    Parameters
    ----------
    config : Config
        Configuration of the learner.
    truth : Truth
        Simulated world.
    run : RunState
        State of the run, changed in place.
    label : int
        Number of the episode in the whole run, part of the key of its random numbers.
    draws_rewards : bool
        Whether to draw and store rewards, which is needed if the learner does not know their means
        or if delays depend on them.

    Returns
    -------
    int
        Number of steps of the episode.
    """
    model, exploration = truth.model, run.learner.exploration
    H, S = run.learner.table.actions.shape
    A = config.actions
    homogeneous = model.ptr.size - 1 == S * A
    stochastic = exploration.explore.size > 0
    s = draw(truth.start_cum, 0, S, uniform(config.seed, START, label, 0))
    run.states[0] = s
    for h in range(H):
        if config.terminal[s]:
            run.states[h:] = s
            return h
        a = int(run.learner.table.actions[h, s])
        if stochastic:
            if explores(exploration, h, s):
                run.tally[LAST_EXPLORED] = label
            a = draw_action(exploration, config.fixed, h, s, a, config.seed, label)
        if draws_rewards:
            u = uniform(config.seed, REWARD, label, h)
            run.rewards[h] = draw_reward(truth.draws, mean_reward(model.rewards, h, s, a), u)
        row = ((0 if homogeneous else h) * S + s) * A + a
        u = uniform(config.seed, TRANSITION, label, h)
        s = int(model.succ[draw(truth.cum, model.ptr[row], model.ptr[row + 1], u)])
        run.actions[h] = a
        run.states[h + 1] = s
    return H


@kernel
def is_optimistic(v: Floats, v_star: Floats) -> bool:
    """Return whether V~_h(s) >= V*_h(s) at every step and state, up to OPTIMISM_TOLERANCE.

    `v` are the values of the plan, of shape (H + 1, S), and `v_star` has the shape (H, S).
    """
    for h in range(v_star.shape[0]):
        for s in range(v_star.shape[1]):
            if v[h, s] < v_star[h, s] - OPTIMISM_TOLERANCE:
                return False
    return True


@inlined
def record_policy(run: RunState, policy: NDArray[np.int32]) -> None:
    """Copy the actions of the current policy of `run` to the array `policy`, of shape (H, S).

    The entry is -1 at each step and state where the policy explores.
    """
    table, exploration = run.learner.table, run.learner.exploration
    for h in range(policy.shape[0]):
        for s in range(policy.shape[1]):
            policy[h, s] = -1 if explores(exploration, h, s) else table.actions[h, s]


@kernel
def advance(
    loops: Loops,
    trigger: Callback,
    config: Config,
    options: RunOptions,
    truth: Truth,
    run: RunState,
    block: Block,
    limit: int,
) -> int:
    """Play a block of episodes, or fewer if an array must be enlarged before the next episode.

    Parameters
    ----------
    loops : Loops
        Functions of the base.
    trigger : Callback
        Function that evaluates the trigger; not called unless `options.triggered`.
    config : Config
        Configuration of the learner.
    options : RunOptions
        Options of the run.
    truth : Truth
        Simulated world.
    run : RunState
        State of the run, changed in place.
    block : Block
        Episodes to play.
    limit : int
        Work, counted in `Scratch.work`, from which on no episode is started.

    Returns
    -------
    int
        Number of episodes played. If it is less than the number of episodes of the block, the
        caller must enlarge the arrays of `run` and call again with the remaining episodes.
    """
    learner, tally = run.learner, run.tally
    pointer = reference(LearnerRecord(config, learner))
    H = run.actions.size
    groups = options.selector.groups
    pieces = block.delays.shape[1] // groups
    draws_rewards = config.unknown_rewards or options.selector.kind == BY_RETURN
    for i in range(block.delays.shape[0]):
        k = block.first + i
        # 1. Stop if there may not be enough free capacity for the feedback of this episode.
        if run.queue.free[1] < pieces or learner.scratch.work[0] >= limit:
            return i
        if config.late_rewards and not has_room(learner.counts, H):
            return i
        # 2. Add the feedback that has arrived to the learner state.
        while run.queue.first[k - 1] != END:
            if not config.late_rewards and not has_room(learner.counts, H):
                return i
            if config.stepwise and learner.own.queued[0] + H > len(learner.own.queue):
                return i
            receive(loops, pointer, config, run, k)
        if options.triggered:
            evaluate_trigger(trigger, config, options, learner, run)
        tally[ARRIVED] = 0
        # 3. Plan if a plan is due; transitions that are not late are used at once.
        due = k == 1 or learner.numbers[PLAN_DUE] == 1 or config.every_episode
        new_path = config.late_rewards and not config.stepwise
        if k == 1 or ((due or new_path) and options.plans):
            mean_delay = tally[WAITED] / tally[STARTED] if k > 1 else 0.0
            make_plan(loops, pointer, due, mean_delay, UNLIMITED)
            evaluate_plan(truth, learner, run.v_pi)
            if due:
                tally[PLANNED] = tally[STARTED]
        learner.numbers[PLAN_DUE] = 0
        tally[MAX_MISSING] = max(tally[MAX_MISSING], tally[MISSING])
        tally[WAITED] += tally[MISSING]
        tally[STARTED] += 1
        # 4. Play, and add the exact regret for the first state drawn.
        length = play(config, truth, run, block.labels[i], draws_rewards)
        learner.scratch.work[0] += length
        s = run.states[0]
        block.gaps[i] = truth.v_star[s] - run.v_pi[0, s]
        if options.v_star.size > 0:
            tally[OPTIMISM_BROKEN] += not is_optimistic(learner.table.v, options.v_star)
        elif learner.table.v[0, s] < truth.v_star[s] - OPTIMISM_TOLERANCE:
            tally[OPTIMISM_BROKEN] += 1
        if block.policies.size > 0:
            record_policy(run, block.policies[i])
        if block.alphas.size > 0:
            block.alphas[i] = learner.alpha[0]
        # 5. Add the feedback to the queue.
        if config.late_rewards and k < options.last:
            for h in range(length):
                s, a, y = run.states[h], run.actions[h], run.states[h + 1]
                absorb_transition(config, learner, h, s, a, y)
        if pieces > 1:
            run.outstanding[k - 1] = length
        group = 0
        if groups > 1:
            group = select_group(options.selector, run.states, run.actions, run.rewards, length)
        for piece in range(min(pieces, length)):
            delay = block.delays[i, piece * groups + group]
            if groups > 1:
                tally[LONGEST] = max(tally[LONGEST], delay)
            counted = max(delay, options.min_delay)
            send(config, run, length, options.last, k, piece, counted)
        tally[MISSING] += 1
    return block.delays.shape[0]
