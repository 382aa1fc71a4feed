"""The state of a compiled run as named arrays, and the checks before such arrays are used again.

Compiled code does not check indices. Arrays from a file are therefore checked completely: types,
shapes, and the range of every number that is used as an index.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.learner.counts import Counts
from belated.learner.problem import LearningProblem
from belated.learner.state import PLAN_DUE, LearnerState, Scratch
from belated.simulation.compiled_queue import CompiledQueue
from belated.simulation.engine import NEW_ROWS, STARTED, RunState
from belated.simulation.run_file import Arrays
from belated.worklist import Worklist, members, put_members

PREFIX: Final = "run"

GROWING: Final = ("succ", "m", "link_row", "link_next", "new_rows")
"""Names of arrays that may be longer than in an empty state, besides those of GROWING_RECORDS."""

GROWING_RECORDS: Final = ("queue", "inbox")
"""Names of records whose arrays may all be longer than in an empty state, except `size`, `used`."""

LARGEST: Final = 2**62
"""Upper limit of numbers that are counted."""


def arrays_of(run: RunState) -> Arrays:
    """Return all arrays of `run` by name, without working memory and constants.

    A worklist is stored as the sorted array of its items. The arrays are not copied.
    """
    found: Arrays = {}
    collect(PREFIX, run, found)
    return found


def collect(name: str, part: Any, found: Arrays) -> None:
    """Add the arrays of `part`, which has the name `name` in the state, to `found`."""
    if isinstance(part, Worklist):
        found[name] = members(part)
    elif isinstance(part, np.ndarray):
        found[name] = part
    elif isinstance(part, tuple) and not isinstance(part, Scratch):
        for field, value in part._asdict().items():  # type: ignore[attr-defined]
            collect(f"{name}.{field}", value, found)


def restore_run(
    empty: RunState, arrays: Arrays, problem: LearningProblem, episodes: int
) -> RunState:
    """Return the state that `arrays_of` has turned into arrays.

    Parameters
    ----------
    empty : RunState
        State before the first episode; its worklists become part of the result.
    arrays : dict of str to NDArray
        Saved arrays.
    problem : LearningProblem
        Problem of the learner.
    episodes : int
        Number of episodes of the instance.

    Returns
    -------
    RunState
        Saved state.

    Raises
    ------
    ValueError
        If an array is missing or has a wrong type, shape or range.
    """
    run: RunState = rebuild(PREFIX, empty, arrays)
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


def rebuild(name: str, empty: Any, arrays: Arrays) -> Any:
    """Return a part of the state with the same structure as in the empty state.

    Parameters
    ----------
    name : str
        Name of the part.
    empty : Any
        The part in the empty state.
    arrays : dict of str to NDArray
        Saved arrays.

    Returns
    -------
    Any
        The saved part. Working memory and constants are those of the empty state.
    """
    if isinstance(empty, Worklist):
        items = find(name, np.zeros(0, np.int64), arrays, growing=True)
        check_range(name, items, 0, empty.after.size - 1)
        put_members(empty, items)
        return empty
    if isinstance(empty, np.ndarray):
        *_, record, field = name.split(".")
        growing = field in GROWING or (
            record in GROWING_RECORDS and field not in ("size", "used") and empty.size > 0
        )
        return find(name, empty, arrays, growing=growing)
    if isinstance(empty, tuple) and not isinstance(empty, Scratch):
        fields = empty._asdict()  # type: ignore[attr-defined]
        return type(empty)(
            **{field: rebuild(f"{name}.{field}", x, arrays) for field, x in fields.items()}
        )
    return empty


def find(name: str, like: NDArray[Any], arrays: Arrays, *, growing: bool) -> NDArray[Any]:
    """Return a saved array after a check of its type and shape.

    Parameters
    ----------
    name : str
        Name of the array.
    like : NDArray
        Array with the expected type and shape.
    arrays : dict of str to NDArray
        Saved arrays.
    growing : bool
        Whether the array may be longer than `like`.

    Returns
    -------
    NDArray
        The saved array, contiguous and writable.
    """
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    shaped = array.shape == like.shape or (
        growing
        and array.ndim == like.ndim
        and array.shape[1:] == like.shape[1:]
        and len(array) >= len(like)
    )
    if array.dtype != like.dtype or not shaped:
        raise ValueError(f"{name} must be {like.dtype} of shape {like.shape}")
    return np.array(array, order="C")


def check_range(name: str, array: Any, low: int, high: int) -> None:
    """Raise ValueError unless all entries of an array lie in a range.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    array : array_like
        Numbers to check.
    low, high : int
        Smallest and largest allowed number.
    """
    values = np.asarray(array)
    if values.size and not (values.min() >= low and values.max() <= high):
        raise ValueError(f"{name} must lie in {low} .. {high}")


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError, with `name` in the message, unless all entries of `array` are finite."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")


def check_same_size(*arrays: NDArray[Any]) -> None:
    """Raise ValueError unless all `arrays` have the same length."""
    if len({len(array) for array in arrays}) > 1:
        raise ValueError("arrays of one record must have the same length")


def check_learner(state: LearnerState, problem: LearningProblem) -> None:
    """Raise ValueError if the arrays of `state` cannot be those of a learner of `problem`."""
    S, A = problem.shape.states, problem.shape.actions
    check_counts(state.counts, S, A)
    inbox, table = state.inbox, state.table
    check_same_size(inbox.row, inbox.successor, inbox.reward)
    check_range("inbox.row", inbox.row, 0, problem.rows - 1)
    check_range("inbox.successor", inbox.successor, 0, S - 1)
    check_range("inbox.used", inbox.used, 0, inbox.row.size)
    check_range("actions of the plan", table.actions, 0, A - 1)
    check_range("order of the plan", table.order, 0, S - 1)
    check_range("epoch_counts", state.epoch_counts, 0, LARGEST)
    check_range("visits of the exploration", state.exploration.visits, 0, LARGEST)
    check_range("numbers", state.numbers, 0, LARGEST)
    check_range("plan due", state.numbers[PLAN_DUE], 0, 1)
    for name, array in (
        ("inbox.reward", inbox.reward),
        ("v of the plan", table.v),
        ("top of the plan", table.top),
        ("low of the plan", table.low),
        ("rewards of the learner", state.rewards),
    ):
        check_finite(name, array)
    if np.isnan(table.q).any() or not state.alpha[0] >= 1:
        raise ValueError("values of the plan and alpha must be numbers, and alpha at least 1")


def check_counts(counts: Counts, S: int, A: int) -> None:
    """Raise ValueError if `counts` are inconsistent; `S` and `A` are the sizes of the problem."""
    check_same_size(counts.succ, counts.m)
    check_same_size(counts.link_row, counts.link_next)
    pool, links, largest = (int(number) for number in counts.used)
    check_range("used pool", pool, 0, counts.succ.size)
    check_range("used links", links, 0, counts.link_row.size)
    for name in ("n", "visits", "m"):
        check_range(f"counts.{name}", getattr(counts, name), 0, LARGEST)
    check_range("counts.size", counts.size, 0, min(S, largest))
    check_range("largest block", largest, 0, S)
    check_range("counts.succ", counts.succ, 0, S - 1)
    # The capacity of a block is the smallest power of two that is not below its size.
    size = counts.size.astype(np.int64)
    capacity = np.where(size > 0, 1 << np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64), 0)
    check_range("counts.start", counts.start, 0, pool)
    check_range("end of the blocks", counts.start + capacity, 0, pool)
    # Every list ends, since its links decrease, and holds rows of its own stage only.
    row, after = counts.link_row[:links], counts.link_next[:links]
    check_range("counts.link_row", row, 0, counts.n.size - 1)
    check_range("counts.head", counts.head, -1, links - 1)
    check_range("counts.link_next", after, -1, links - 1)
    stage, number = row // (S * A), np.arange(links)
    heads = np.where(counts.head >= 0, counts.head, 0)
    first = stage[heads] if links else np.zeros_like(heads)
    right = np.arange(len(counts.head))[:, np.newaxis]
    if (
        (after >= number).any()
        or (stage[after] != stage)[after >= 0].any()
        or ((first != right) & (counts.head >= 0)).any()
    ):
        raise ValueError("the links of the counts must decrease and stay in their stage")


def check_queue(queue: CompiledQueue, problem: LearningProblem, episodes: int) -> None:
    """Raise ValueError if a queue is inconsistent.

    Parameters
    ----------
    queue : CompiledQueue
        Queue to check.
    problem : LearningProblem
        Problem of the learner.
    episodes : int
        Number of episodes of the instance.
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
