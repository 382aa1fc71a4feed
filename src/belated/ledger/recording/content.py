"""Content of feedback: its formats, its validation, and its conversion to parts.

A part is the smallest unit of feedback that is recorded: a whole episode, one step, the path of an
episode, or the reward of one step. Content has one of the forms

    {"states": [s_1 .. s_H+1], "actions": [a_1 .. a_H], "rewards": [r_1 .. r_H]}
    {"steps": [{"step": h, "state": s, "action": a, "next_state": y, "reward": r}, ...]}
    {"path": {"states": [...], "actions": [...]}, "rewards": {h: r, ...}}

where s_i, a_i and r_i are the state, action and reward of the i-th step, h is the index of a step
from 0, and s, a, y and r are the state, action, next state and reward of step h. H is the horizon.

States and actions are given by name (a text) or by index (a number). Rewards lie in [0, 1], or in
the problem's `reward_range`. They may be omitted or null if the mean rewards are known in the
problem's specification. The third form is for problems in
which only the rewards are late; the path and the rewards may arrive together or separately.

Parts are named "whole", "step:3", "path" or "reward:3", where 3 is the step. In a part, states and
actions are given by index.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from belated.ledger.problems import ProblemSpec
from belated.ledger.validation import describe_range

Parts: TypeAlias = dict[str, Any]

WHOLE: Final = "whole"
PATH: Final = "path"

MAX_LISTED_NAMES: Final = 10
"""Maximum number of names of states or actions to list in an error message."""


class ContentError(ValueError):
    """Error in the content of feedback.

    Parameters
    ----------
    field : str or None
        Name of the invalid field, such as `steps[0].state`; None if the error concerns no single
        field.
    message : str
        The error message.
    """

    def __init__(self, field: str | None, message: str) -> None:
        super().__init__(message)
        self.field = field


def parse_content(content: object, spec: ProblemSpec) -> Parts:
    """Return the parts of the feedback `content`, by name of the part.

    The module docstring describes content and parts. Raises ContentError if `content` is not valid
    for the problem `spec`.
    """
    if not isinstance(content, Mapping):
        raise ContentError(None, f"content must be an object, got {_shorten(content)}.")
    if "steps" in content:
        _check_fields(content, "steps")
        return _parse_steps(content["steps"], spec)
    if "states" in content or "actions" in content:
        return {WHOLE: _parse_whole(content, spec)}
    if "path" in content or "rewards" in content:
        return _parse_path_and_rewards(content, spec)
    raise ContentError(
        None, "content must have states and actions, or steps, or a path, or rewards."
    )


def parse_correction(content: object, spec: ProblemSpec) -> Parts:
    """Return the content of a correction as a dict with the single part "whole".

    Raises ContentError if `content` is not a valid whole episode of the problem `spec`.
    """
    parts = parse_content(content, spec)
    if WHOLE not in parts:
        raise ContentError(None, "A correction must be a whole episode, with states and actions.")
    return parts


def parse_index(field: str, value: Any, numbers: Mapping[str, int]) -> int:
    """Return the index of a state or action that is given by name or by index.

    Parameters
    ----------
    field : str
        Name of the field in error messages.
    value : str or int
        Name or index of the state or action.
    numbers : mapping
        Index of each state or action, by name.

    Returns
    -------
    int
        The index.

    Raises
    ------
    ContentError
        If `value` is not the name or index of a state or action.

    >>> parse_index("state", "well", {"ill": 0, "well": 1}), parse_index("state", 0, {"ill": 0})
    (1, 0)
    """
    found = numbers.get(value) if type(value) is str else value
    if type(found) is int and 0 <= found < len(numbers):
        return found
    more = ", ..." if len(numbers) > MAX_LISTED_NAMES else ""
    names = ", ".join(list(numbers)[:MAX_LISTED_NAMES]) + more
    raise ContentError(
        field,
        f"{field} must be one of {names}, or in 0 .. {len(numbers) - 1}, got {_shorten(value)}.",
    )


def join_parts(parts: Parts) -> dict[str, Any]:
    """Return the content of feedback from which `parse_content` returns the same `parts`."""
    if WHOLE in parts:
        return dict(parts[WHOLE])
    steps = [value for part, value in parts.items() if part.startswith("step:")]
    if steps:
        return {"steps": steps}
    content: dict[str, Any] = {}
    if PATH in parts:
        content["path"] = parts[PATH]
    rewards = {
        part.partition(":")[2]: value for part, value in parts.items() if part.startswith("reward:")
    }
    if rewards:
        content["rewards"] = rewards
    return content


def split_into_steps(parts: Parts) -> Parts:
    """Convert the part "whole" in `parts` to one part for each step, and return these parts."""
    whole = parts[WHOLE]
    states, rewards = whole["states"], whole["rewards"] or [None] * len(whole["actions"])
    return {
        f"step:{h}": {
            "step": h,
            "state": states[h],
            "action": action,
            "next_state": states[h + 1],
            "reward": rewards[h],
        }
        for h, action in enumerate(whole["actions"])
    }


def split_into_path(parts: Parts) -> Parts:
    """Convert the part "whole" in `parts` to the path and one part for each reward.

    Returns these parts. If the episode contains no rewards, the path is the only part.
    """
    whole = parts[WHOLE]
    path = {"states": whole["states"], "actions": whole["actions"]}
    return {PATH: path, **{f"reward:{h}": r for h, r in enumerate(whole["rewards"] or [])}}


def _parse_whole(content: Mapping[str, Any], spec: ProblemSpec) -> dict[str, Any]:
    _check_fields(content, "states", "actions", "rewards")
    path, rewards = _parse_path(content, "", spec), content.get("rewards")
    if rewards is None:
        _check_rewards_known("rewards", spec)
    else:
        rewards = _parse_list("rewards", rewards, spec.horizon)
        rewards = [_parse_reward("rewards", h, r, spec) for h, r in enumerate(rewards)]
    return {**path, "rewards": rewards}


def _parse_path(content: Mapping[str, Any], prefix: str, spec: ProblemSpec) -> dict[str, Any]:
    path = {}
    for name, count, numbers in (
        ("states", spec.horizon + 1, spec.state_numbers),
        ("actions", spec.horizon, spec.action_numbers),
    ):
        field = f"{prefix}{name}"
        values = _parse_list(field, content.get(name), count)
        limit = len(numbers)
        path[name] = [
            # fast path for valid indices, without formatting the name of the field
            value
            if type(value) is int and 0 <= value < limit
            else parse_index(f"{field}[{i}]", value, numbers)
            for i, value in enumerate(values)
        ]
    return path


def _parse_steps(steps: object, spec: ProblemSpec) -> Parts:
    if not isinstance(steps, list | tuple) or not steps:
        raise ContentError("steps", "steps must be a list of at least one step.")
    columns = {
        "state": spec.state_numbers,
        "action": spec.action_numbers,
        "next_state": spec.state_numbers,
    }
    parts: Parts = {}
    for i, step in enumerate(steps):
        where = f"steps[{i}]"
        if not isinstance(step, Mapping):
            raise ContentError(where, f"{where} must be an object, got {_shorten(step)}.")
        _check_fields(step, "step", *columns, "reward", within=where)
        parsed: dict[str, Any] = {
            "step": _parse_step(f"{where}.step", step.get("step"), spec.horizon)
        }
        for name, numbers in columns.items():
            parsed[name] = parse_index(f"{where}.{name}", step.get(name), numbers)
        reward = step.get("reward")
        if reward is None:
            _check_rewards_known(f"{where}.reward", spec)
        else:
            reward = _parse_reward(f"{where}.reward", None, reward, spec)
        parsed["reward"] = reward
        if parts.setdefault(f"step:{parsed['step']}", parsed) != parsed:
            raise ContentError(where, f"{where} contradicts an earlier one of the same step.")
    return dict(sorted(parts.items(), key=lambda item: item[1]["step"]))


def _parse_path_and_rewards(content: Mapping[str, Any], spec: ProblemSpec) -> Parts:
    _check_fields(content, "path", "rewards")
    if spec.late != "rewards":
        raise ContentError(
            "path" if "path" in content else "rewards",
            f"A path and rewards may arrive separately only if late is 'rewards'; it is "
            f"{spec.late!r} here, so content must have states and actions, or steps.",
        )
    parts: Parts = {}
    if "path" in content:
        path = content["path"]
        if not isinstance(path, Mapping):
            raise ContentError("path", f"path must be an object, got {_shorten(path)}.")
        _check_fields(path, "states", "actions", within="path")
        parts[PATH] = _parse_path(path, "path.", spec)
    if "rewards" in content:
        parts |= _parse_rewards(content["rewards"], spec)
    return parts


def _parse_rewards(rewards: object, spec: ProblemSpec) -> Parts:
    horizon = spec.horizon
    if not isinstance(rewards, Mapping) or not rewards:
        raise ContentError("rewards", "rewards must be an object of at least one reward by step.")
    by_step: dict[int, float] = {}
    for key, value in rewards.items():
        # the length is limited, since Python refuses to convert texts of thousands of digits
        digits = isinstance(key, str) and len(key) < 10 and key.isdecimal() and key.isascii()
        step = int(key) if digits else key
        if type(step) is not int or not 0 <= step < horizon or str(step) != str(key):
            raise ContentError(
                "rewards", f"A step in rewards must lie in 0 .. {horizon - 1}, got {_shorten(key)}."
            )
        by_step[step] = _parse_reward("rewards", step, value, spec)
    return {f"reward:{step}": by_step[step] for step in sorted(by_step)}


def _check_rewards_known(field: str, spec: ProblemSpec) -> None:
    if spec.rewards is None:
        raise ContentError(
            field,
            f"{field} is missing; feedback must contain the rewards, since they are not known.",
        )


def _parse_list(field: str, values: Any, count: int) -> Any:
    to_list: Callable[[], Any] | None = getattr(values, "tolist", None)
    values = to_list() if to_list is not None else values
    if not isinstance(values, list | tuple) or len(values) != count:
        got = len(values) if isinstance(values, list | tuple) else _shorten(values)
        raise ContentError(field, f"{field} must be a list of {count}, got {got}.")
    return values


def _parse_step(field: str, value: Any, horizon: int) -> int:
    if type(value) is int and 0 <= value < horizon:
        return value
    raise ContentError(field, f"{field} must lie in 0 .. {horizon - 1}, got {_shorten(value)}.")


def _parse_reward(field: str, i: int | None, value: Any, spec: ProblemSpec) -> float:
    low, high = spec.reward_range or (0, 1)
    is_number = type(value) in (int, float)
    # adding 0.0 turns -0.0 into 0.0, so that equal numbers have equal text
    if is_number and low <= value <= high:
        return value + 0.0
    where = field if i is None else f"{field}[{i}]"
    expected = describe_range(spec.reward_range) if is_number else "must be a number"
    raise ContentError(where, f"{where} {expected}, got {_shorten(value)}.")


def _check_fields(given: Mapping[str, Any], *names: str, within: str = "content") -> None:
    for key in given:
        if key not in names:
            raise ContentError(
                within if within != "content" else None,
                f"{within} must have only the fields {', '.join(names)}, got {_shorten(key)}.",
            )


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
