"""What feedback says of an episode, taken apart.

Feedback is one of

    {"states": [s_1 .. s_H+1], "actions": [a_1 .. a_H], "rewards": [r_1 .. r_H]}
    {"steps": [{"step": h, "state": s, "action": a, "next_state": y, "reward": r}, ...]}
    {"path": {"states": [...], "actions": [...]}, "rewards": {h: r, ...}}

with states and actions by name (a text) or by index (a number), and steps from 0. Rewards may be
left out, or be null, where they are known beforehand. The third is for problems of which only the
rewards are late; its path and its rewards may come together or apart.

It is taken apart into parts that come once each: "whole", "step:3", "path", "reward:3".
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from belated.ledger.problems import Spec

Parts: TypeAlias = dict[str, Any]

WHOLE: Final = "whole"
PATH: Final = "path"

LISTED: Final = 10
"""How many names to tell of."""


class ContentError(ValueError):
    """Something is wrong with feedback, in one field of it."""

    def __init__(self, field: str | None, message: str) -> None:
        super().__init__(message)
        self.field = field


def parse(content: object, spec: Spec) -> Parts:
    """The parts of feedback, checked and in canonical form, with indices for names."""
    if not isinstance(content, Mapping):
        raise ContentError(None, f"content must be an object, not {_short(content)}.")
    if "steps" in content:
        _only(content, "steps")
        return _steps(content["steps"], spec)
    if "states" in content or "actions" in content:
        return {WHOLE: _whole(content, spec)}
    if "path" in content or "rewards" in content:
        return _path_and_rewards(content, spec)
    raise ContentError(
        None, "content must have states and actions, or steps, or a path, or rewards."
    )


def parse_whole(content: object, spec: Spec) -> Parts:
    """The one part of feedback that must be of a whole episode."""
    parts = parse(content, spec)
    if WHOLE not in parts:
        raise ContentError(None, "A correction must bring the whole episode: states and actions.")
    return parts


def number_of(field: str, value: Any, numbers: Mapping[str, int]) -> int:
    """The index of a state or action, which is given by name or by that index.

    >>> number_of("state", "well", {"ill": 0, "well": 1}), number_of("state", 0, {"ill": 0})
    (1, 0)
    """
    found = numbers.get(value) if type(value) is str else value
    if type(found) is int and 0 <= found < len(numbers):
        return found
    names = ", ".join(list(numbers)[:LISTED]) + (", ..." if len(numbers) > LISTED else "")
    raise ContentError(
        field, f"{field} is {_short(value)}; allowed are {names}, or 0 .. {len(numbers) - 1}."
    )


def body_of(parts: Parts) -> dict[str, Any]:
    """Feedback that has these parts."""
    if WHOLE in parts:
        return dict(parts[WHOLE])
    steps = [value for part, value in parts.items() if part.startswith("step:")]
    if steps:
        return {"steps": steps}
    body: dict[str, Any] = {}
    if PATH in parts:
        body["path"] = parts[PATH]
    rewards = {
        part.partition(":")[2]: value for part, value in parts.items() if part.startswith("reward:")
    }
    if rewards:
        body["rewards"] = rewards
    return body


def as_steps(parts: Parts) -> Parts:
    """A whole episode, step by step."""
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


def as_path(parts: Parts) -> Parts:
    """A whole episode, as its path and its rewards."""
    whole = parts[WHOLE]
    path = {"states": whole["states"], "actions": whole["actions"]}
    return {PATH: path, **{f"reward:{h}": r for h, r in enumerate(whole["rewards"] or [])}}


def _whole(content: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    _only(content, "states", "actions", "rewards")
    walk, rewards = _walk(content, "", spec), content.get("rewards")
    if rewards is None:
        _need_no_reward("rewards", spec)
    else:
        rewards = _list("rewards", rewards, spec.horizon)
        rewards = [_reward("rewards", h, r) for h, r in enumerate(rewards)]
    return {**walk, "rewards": rewards}


def _walk(content: Mapping[str, Any], within: str, spec: Spec) -> dict[str, Any]:
    walk = {}
    for name, count, numbers in (
        ("states", spec.horizon + 1, spec.state_numbers),
        ("actions", spec.horizon, spec.action_numbers),
    ):
        field = f"{within}{name}"
        values = _list(field, content.get(name), count)
        limit = len(numbers)
        walk[name] = [
            # most are indices, and no name is made for a field that nobody will ask about
            value
            if type(value) is int and 0 <= value < limit
            else number_of(f"{field}[{i}]", value, numbers)
            for i, value in enumerate(values)
        ]
    return walk


def _steps(steps: object, spec: Spec) -> Parts:
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
            raise ContentError(where, f"{where} must be an object, not {_short(step)}.")
        _only(step, "step", *columns, "reward", within=where)
        fact: dict[str, Any] = {"step": _step(f"{where}.step", step.get("step"), spec.horizon)}
        for name, numbers in columns.items():
            fact[name] = number_of(f"{where}.{name}", step.get(name), numbers)
        reward = step.get("reward")
        if reward is None:
            _need_no_reward(f"{where}.reward", spec)
        fact["reward"] = None if reward is None else _reward(f"{where}.reward", None, reward)
        part = f"step:{fact['step']}"
        if parts.setdefault(part, fact) != fact:
            raise ContentError(where, f"{where} contradicts an earlier one of the same step.")
    return dict(sorted(parts.items(), key=lambda item: item[1]["step"]))


def _path_and_rewards(content: Mapping[str, Any], spec: Spec) -> Parts:
    _only(content, "path", "rewards")
    if spec.late != "rewards":
        raise ContentError(
            "path" if "path" in content else "rewards",
            f"A path and rewards come apart only where late is 'rewards'; "
            f"it is {spec.late!r} here, so content must have states and actions, or steps.",
        )
    parts: Parts = {}
    if "path" in content:
        path = content["path"]
        if not isinstance(path, Mapping):
            raise ContentError("path", f"path must be an object, not {_short(path)}.")
        _only(path, "states", "actions", within="path")
        parts[PATH] = _walk(path, "path.", spec)
    if "rewards" in content:
        parts |= _rewards(content["rewards"], spec.horizon)
    return parts


def _rewards(rewards: object, horizon: int) -> Parts:
    if not isinstance(rewards, Mapping) or not rewards:
        raise ContentError("rewards", "rewards must be an object of at least one reward by step.")
    paid: dict[int, float] = {}
    for key, value in rewards.items():
        # a number of thousands of digits is one that Python refuses to read
        digits = isinstance(key, str) and len(key) < 10 and key.isdecimal() and key.isascii()
        step = int(key) if digits else key
        if type(step) is not int or not 0 <= step < horizon or str(step) != str(key):
            raise ContentError(
                "rewards", f"rewards has the step {_short(key)}; allowed are 0 .. {horizon - 1}."
            )
        paid[step] = _reward("rewards", step, value)
    return {f"reward:{step}": paid[step] for step in sorted(paid)}


def _need_no_reward(field: str, spec: Spec) -> None:
    if spec.rewards is None:
        raise ContentError(
            field, f"{field} is missing; rewards are not known beforehand, so feedback brings them."
        )


def _list(field: str, values: Any, count: int) -> Any:
    to_list: Callable[[], Any] | None = getattr(values, "tolist", None)
    values = to_list() if to_list is not None else values
    if not isinstance(values, list | tuple) or len(values) != count:
        got = len(values) if isinstance(values, list | tuple) else _short(values)
        raise ContentError(field, f"{field} must be a list of {count}, not {got}.")
    return values


def _step(field: str, value: Any, horizon: int) -> int:
    if type(value) is int and 0 <= value < horizon:
        return value
    raise ContentError(field, f"{field} is {_short(value)}; allowed are 0 .. {horizon - 1}.")


def _reward(field: str, i: int | None, value: Any) -> float:
    # adding 0.0 makes 0 of -0.0, which is the same number in another text
    if type(value) in (int, float) and 0 <= value <= 1 and math.isfinite(value):
        return value + 0.0
    where = field if i is None else f"{field}[{i}]"
    raise ContentError(where, f"{where} is {_short(value)}; rewards are numbers in [0, 1].")


def _only(given: Mapping[str, Any], *names: str, within: str = "content") -> None:
    for key in given:
        if key not in names:
            raise ContentError(
                within if within != "content" else None,
                f"{within} has {_short(key)}; allowed beside each other are {', '.join(names)}.",
            )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
