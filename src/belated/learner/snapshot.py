"""Snapshots of a learner: the learning problem and the learner state as plain arrays."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, cast

import numpy as np

from belated.episode import Shape
from belated.learner.bases import BASES
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.plan import Planner
from belated.learner.problem import LearningProblem
from belated.learner.state import LearnerState, empty_state
from belated.learner.updaters import UPDATERS
from belated.learner.updaters.updater import Updater
from belated.options import LearnerOptions, option_values
from belated.worklist import Worklist, members, put_members

FORMAT: Final = 4
"""Version number of the snapshot format."""

SCRATCH: Final = ("changed", "scratch")
"""Fields of `LearnerState` that are working memory and are not saved."""


def snapshot_problem(problem: LearningProblem) -> dict[str, Any]:
    """Return `problem` as plain arrays, numbers and strings, for `restore_problem`.

    Of a base or updater that is not built in, only the name is saved.
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
        If the format of the snapshot is not `FORMAT`, or if the base or the updater is not built in
        and is not given as an argument.
    """
    if saved.get("format") != FORMAT:
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

    `problem` is the learning problem of the learner.
    """
    empty = empty_state(problem)
    parts = {name: _from_dict(getattr(empty, name), saved[name]) for name in saved}
    return empty._replace(**parts)


def _to_dict(part: Any) -> Any:
    """Return `part`, a field or a named tuple of fields, as nested dicts with arrays copied."""
    if isinstance(part, Worklist):
        return members(part)
    if isinstance(part, tuple):
        fields = part._asdict()  # type: ignore[attr-defined]
        return {name: _to_dict(value) for name, value in fields.items()}
    return part.copy() if isinstance(part, np.ndarray) else part


def _from_dict(like: Any, saved: Any) -> Any:
    """Return `saved`, a result of `_to_dict`, as nested named tuples with the same types as `like`.

    The worklists in `like` must be empty; they are filled and become part of the result.
    """
    if isinstance(like, Worklist):
        put_members(like, saved)
        return like
    if isinstance(like, tuple):
        fields = like._asdict()  # type: ignore[attr-defined]
        return type(like)(**{name: _from_dict(fields[name], saved[name]) for name in fields})
    return saved.copy() if isinstance(saved, np.ndarray) else saved


def _describe(part: object, known: Mapping[str, type]) -> dict[str, Any]:
    name = getattr(part, "name", type(part).__name__)
    if known.get(name) is not type(part):
        return {"name": type(part).__name__ if name in known else name, "options": None}
    return {"name": name, "options": asdict(part)}  # type: ignore[call-overload]


def _rebuild(kind: str, described: dict[str, Any], known: Mapping[str, Any]) -> object:
    name, options = described["name"], described["options"]
    if options is None:
        raise ValueError(f"The {kind} {name!r} is not built in; pass it as restore(..., {kind}=).")
    return known[name](**options)
