"""The state of a compiled run as named arrays, and the checks before such arrays are used again.

Compiled code does not check indices. Arrays from a file are therefore checked completely: types,
shapes, and the range of every number that is used as an index.
"""

from typing import Final

import numpy as np

from belated.array_checks import Arrays, check_finite, check_range, check_same_size
from belated.learner.problem import LearningProblem
from belated.learner.snapshot import GROWING, LARGEST, check_learner, collect, rebuild
from belated.simulation.compiled_queue import CompiledQueue
from belated.simulation.engine import NEW_ROWS, STARTED, RunState

PREFIX: Final = "run"

GROWING_IN_RUN: Final = GROWING | {
    "run.new_rows",
    *(f"queue.{field}" for field in CompiledQueue._fields if field != "size"),
}
"""Names of the arrays that may be longer in a saved state than in a state before the first episode.
A name consists of a record and one of its fields, such as "queue.slot"."""


def arrays_of(run: RunState) -> Arrays:
    """Return a map from names, such as "run.queue.slot", to the arrays of `run`.

    Working memory, which is a `Scratch`, and numbers that are not in arrays are left out. A
    worklist is represented by the sorted array of its items. The arrays are not copied.
    """
    found: Arrays = {}
    collect(PREFIX, run, found)
    return found


def restore_run(
    empty: RunState, arrays: Arrays, problem: LearningProblem, episodes: int
) -> RunState:
    """Return the state of a run, rebuilt from the arrays that `arrays_of` returned for it.

    Parameters
    ----------
    empty : RunState
        State before the first episode; its worklists become part of the result.
    arrays : dict of str to NDArray
        Saved arrays.
    problem : LearningProblem
        Problem of the learner.
    episodes : int
        Number of episodes that the run plays in total; with MultiInstance, those that the saved
        instance plays.

    Returns
    -------
    RunState
        Saved state.

    Raises
    ------
    ValueError
        If an array is missing or has a wrong type, shape or range.
    """
    run: RunState = rebuild(PREFIX, empty, arrays, GROWING_IN_RUN)
    check_learner(run.learner, problem)
    check_queue(run.queue, problem, episodes)
    S, A = problem.shape.states, problem.shape.actions
    pieces = problem.shape.horizon // run.queue.actions.shape[1]
    check_range("tally", run.tally, 0, LARGEST)
    check_range("number of episodes played", run.tally[STARTED], 0, episodes)
    check_range("dropped", run.dropped, 0, LARGEST)
    check_range("outstanding", run.outstanding, 0, pieces)
    check_range("states", run.states, 0, S - 1)
    check_range("actions", run.actions, 0, A - 1)
    check_finite("v_pi", run.v_pi)
    check_finite("rewards", run.rewards)
    check_range("new_rows", run.new_rows, 0, problem.rows - 1)
    if problem.trigger_rule is not None:
        waiting = int(run.queue.size[0]) * run.queue.actions.shape[1]
        check_range("number of new rows", run.tally[NEW_ROWS], 0, run.new_rows.size - waiting)
    return run


def check_queue(queue: CompiledQueue, problem: LearningProblem, episodes: int) -> None:
    """Raise ValueError if `queue` cannot be the queue of a run of `problem`.

    The lengths of the arrays are checked, and the ranges of states, actions and numbers of
    feedback. Rewards must be finite, and each slot must occur once.

    Parameters
    ----------
    queue : CompiledQueue
        Queue to check.
    problem : LearningProblem
        Problem of the learner.
    episodes : int
        Number of episodes that the run plays in total; with MultiInstance, those that the saved
        instance plays.
    """
    H, S, A = problem.shape.table
    capacity = queue.slot.size
    check_same_size(queue.arrival, queue.number, queue.slot, queue.states, queue.actions)
    if problem.unknown_rewards:
        check_same_size(queue.slot, queue.rewards)
    check_range("queue.size", queue.size, 0, capacity)
    if not np.array_equal(np.sort(queue.slot), np.arange(capacity)):
        raise ValueError("queue.slot must be a permutation")
    check_range("queue.states", queue.states, 0, S - 1)
    check_range("queue.actions", queue.actions, 0, A - 1)
    check_finite("queue.rewards", queue.rewards)
    whole = queue.actions.shape[1] == H
    low, high = (1, episodes) if whole else (H, episodes * H + H - 1)
    check_range("queue.number", queue.number[: int(queue.size[0])], low, high)
