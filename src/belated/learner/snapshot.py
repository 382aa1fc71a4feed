"""Snapshots of a learner: the learning problem and the learner state as plain arrays.

A snapshot may come from a file or a database, and compiled code does not check indices. A state is
therefore checked completely when it is restored.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final, cast

import numpy as np

from belated.check import check_finite, check_like, check_range, check_same_size
from belated.episode import Shape
from belated.learner.bases import BASES
from belated.learner.bases.base import BaseAlgorithm, Planner
from belated.learner.problem import LearningProblem
from belated.learner.state import PLAN_DUE, Counts, LearnerState, empty_state
from belated.learner.updaters import UPDATERS
from belated.learner.updaters.updater import Updater
from belated.options import LearnerOptions, option_values
from belated.worklist import Worklist, members, put_members

FORMAT: Final = 5
"""Version number of the snapshot format."""

SCRATCH: Final = ("changed", "scratch")
"""Fields of `LearnerState` that are working memory and are not saved."""

GROWING: Final = ("counts.succ", "counts.m", "counts.link_row", "counts.link_next", "own.queue")
"""Names of the arrays that may be longer in a saved state than in a state without observations. A
name consists of a field of the state and a field of that record, such as "counts.succ"."""

LARGEST: Final = 2**62
"""Largest number that a count in a saved state may have."""


@contextmanager
def damage_errors() -> Iterator[None]:
    """Return a context manager that raises ValueError if reading a malformed snapshot fails.

    It replaces lookup, type, attribute and overflow errors raised in its body.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"The snapshot is malformed: {reason}.") from error


def snapshot_problem(problem: LearningProblem) -> dict[str, Any]:
    """Return `problem` as plain arrays, numbers and strings, for `restore_problem`.

    If the base or the updater is not built in, only its name is saved.
    """
    shape = problem.shape
    restrictions: dict[str, Any] = {}
    if shape.terminal:
        restrictions["terminal"] = list(shape.terminal)
    if shape.allowed is not None:
        restrictions["allowed"] = shape.allowed.copy()
    return {
        "format": FORMAT,
        "shape": [shape.states, shape.actions, shape.horizon],
        **restrictions,
        "base": _describe(problem.base, BASES),
        "updater": _describe(problem.updater, UPDATERS),
        "rewards": None if problem.rewards is None else problem.rewards.copy(),
        "episodes": problem.episodes,
        "seed": problem.seed,
        "options": option_values(problem, LearnerOptions),
    }


def restore_problem(
    saved: dict[str, Any], base: BaseAlgorithm | Planner | None, updater: Updater | None
) -> LearningProblem:
    """Return a learning problem saved by `snapshot_problem`.

    Parameters
    ----------
    saved : dict
        Result of `snapshot_problem`.
    base, updater : optional
        Base and updater to use instead of the saved ones; required if they are not built in.

    Returns
    -------
    LearningProblem
        Restored problem.

    Raises
    ------
    ValueError
        If the format of the snapshot is neither `FORMAT` nor 4, or if the base or the updater is
        not built in and is not given as an argument.
    """
    if saved.get("format") not in (4, FORMAT):
        raise ValueError(
            f"The snapshot must have format {FORMAT}, got {saved.get('format')!r}; it was saved by "
            "another version of belated."
        )
    return LearningProblem(
        shape=Shape(
            *saved["shape"], terminal=saved.get("terminal", ()), allowed=saved.get("allowed")
        ),
        base=base or cast(BaseAlgorithm, _rebuild("base", saved["base"], BASES)),
        updater=updater or cast(Updater, _rebuild("updater", saved["updater"], UPDATERS)),
        rewards=saved["rewards"],
        episodes=saved["episodes"],
        seed=saved["seed"],
        **saved["options"],
    )


def snapshot_state(state: LearnerState) -> dict[str, Any]:
    """Return the fields of `state` as nested dicts of copied arrays, for `restore_state`.

    Working memory is left out. A worklist is saved as the sorted array of its items.
    """
    saved = _to_dict(state)
    return {name: saved[name] for name in LearnerState._fields if name not in SCRATCH}


def restore_state(problem: LearningProblem, saved: dict[str, Any]) -> LearnerState:
    """Return the learner state stored in `saved`, which is a result of `snapshot_state`.

    `problem` is the learning problem of the learner. Raises ValueError if an array is missing or
    has a wrong type, shape or range.
    """
    empty = empty_state(problem)
    saved = dict(saved) if "own" in saved else _with_own_state(saved)
    if problem.updater.lazy_alpha() is None:  # older snapshots end at SINCE_PLAN
        numbers = saved["numbers"]
        missing = max(0, empty.numbers.size - numbers.size)
        saved["numbers"] = np.append(numbers, np.zeros(missing, numbers.dtype))
    names = [name for name in LearnerState._fields if name not in SCRATCH]
    parts = {name: _restore_part(name, getattr(empty, name), saved.get(name)) for name in names}
    state = empty._replace(**parts)
    check_learner(state, problem)
    return state


def _with_own_state(saved: dict[str, Any]) -> dict[str, Any]:
    """Return a state of format 4 with what Q-learning then kept in fields of its own."""
    memory, inbox = saved["memory"], saved["inbox"]
    own = {
        "numbers": np.concatenate([memory[name] for name in ("n", "total", "squares", "beta")]),
        "queue": np.column_stack([inbox[name] for name in ("row", "successor", "reward")]),
        "queued": inbox["used"],
    }
    if len(memory["n"]) == 0:  # of another base
        own["queue"] = np.zeros((0, 0))
    return {**saved, "own": own}


def _to_dict(part: Any) -> Any:
    """Return a part of a learner state in the form in which it is saved.

    `part` is a named tuple of parts, which becomes a dict; a worklist, which becomes the sorted
    array of its items; an array, which is copied; or a number, which is returned unchanged.
    """
    if isinstance(part, Worklist):
        return members(part)
    if isinstance(part, tuple):
        fields = part._asdict()  # type: ignore[attr-defined]
        return {name: _to_dict(value) for name, value in fields.items()}
    return part.copy() if isinstance(part, np.ndarray) else part


def _describe(part: object, known: Mapping[str, type]) -> dict[str, Any]:
    name = getattr(part, "name", type(part).__name__)
    if known.get(name) is not type(part):
        return {"name": type(part).__name__ if name in known else name, "options": None}
    options = {option.name: getattr(part, option.name) for option in fields(part)}  # type: ignore[arg-type]
    for option, value in options.items():
        if isinstance(value, Updater):  # of Matured
            options[option] = _describe(value, known)
        elif isinstance(part, Updater) and isinstance(value, tuple):  # of Batched
            options[option] = list(value)
    return {"name": name, "options": options}


def _rebuild(kind: str, described: dict[str, Any], known: Mapping[str, Any]) -> object:
    name, options = described["name"], described["options"]
    if options is None:
        raise ValueError(f"The {kind} {name!r} is not built in; pass it as restore(..., {kind}=).")
    inner = {
        option: _rebuild(kind, value, known)
        for option, value in options.items()
        if isinstance(value, dict)
    }
    return known[name](**{**options, **inner})


def _restore_part(name: str, empty: Any, saved: Any) -> Any:
    """Return a part of a learner state from its `saved` form; see `_to_dict`.

    `empty` is the same part of a state without observations, which defines the structure, and the
    types and shapes of the arrays. Numbers that are not in arrays are those of `empty`. `name` is
    the name of the part, such as "counts.n".
    """
    if isinstance(empty, Worklist):
        items = check_like(f"state.{name}", np.zeros(0, np.int64), saved, growing=True)
        check_range(f"state.{name}", items, 0, empty.after.size - 1)
        put_members(empty, items)
        return empty
    if isinstance(empty, np.ndarray):
        growing = name in GROWING and empty.size > 0
        return check_like(f"state.{name}", empty, saved, growing=growing)
    if isinstance(empty, tuple):
        fields = empty._asdict()  # type: ignore[attr-defined]
        parts = {
            field: _restore_part(f"{name}.{field}", value, saved.get(field))
            for field, value in fields.items()
        }
        return type(empty)(**parts)
    return empty


def check_learner(state: LearnerState, problem: LearningProblem) -> None:
    """Raise ValueError if the arrays of `state` cannot be those of a learner of `problem`."""
    S, A = problem.shape.states, problem.shape.actions
    check_counts(state.counts, S, A)
    table = state.table
    check_range("actions of the plan", table.actions, 0, A - 1)
    check_range("order of the plan", table.order, 0, S - 1)
    check_range("epoch_counts", state.epoch_counts, 0, LARGEST)
    check_range("visits of the exploration", state.exploration.visits, 0, LARGEST)
    check_range("numbers", state.numbers, 0, LARGEST)
    check_range("plan due", state.numbers[PLAN_DUE], 0, 1)
    for sums in (state.reward_sums.n, state.reward_sums.total, state.reward_sums.squares):
        check_range("reward_sums", sums, 0, LARGEST)
    check_finite("rewards of the learner", state.rewards)
    if problem.algorithm.stepwise and (hooks := problem.backup_rule.hooks) is not None:
        hooks.check(state.own, problem.shape)
    if problem.algorithm.planner is None:  # otherwise the values are those of a user's planner
        for name in ("v", "top", "low"):
            check_finite(f"{name} of the plan", getattr(table, name))
        check_range("q of the plan", table.q, -np.inf, np.inf)
    if problem.updater.lazy_alpha() is not None and not state.alpha[0] >= 1:
        raise ValueError("alpha must be at least 1")


def check_counts(counts: Counts, S: int, A: int) -> None:
    """Raise ValueError if `counts` cannot be counts of a problem of `S` states and `A` actions.

    The lengths of the arrays and the range of every number are checked. The linked list of the rows
    that lead to a successor must end, and all its rows must belong to one stage.
    """
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
