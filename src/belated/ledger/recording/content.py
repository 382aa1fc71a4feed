"""Content of feedback: its formats, its validation, and its conversion to parts.

Parts are described in `belated.ledger.recording.parts`. Content has one of the forms

    {"states": [s_1 .. s_H+1], "actions": [a_1 .. a_H], "rewards": [r_1 .. r_H]}
    {"steps": [{"step": h, "state": s, "action": a, "next_state": y, "reward": r}, ...]}
    {"path": {"states": [...], "actions": [...]}, "rewards": {h: r, ...}}

where s_i, a_i and r_i are the state, action and reward of the i-th step, h is the index of a step
from 0, and s, a, y and r are the state, action, next state and reward of step h. H is the horizon.

States and actions are given by name (a text) or by index (a number); a state of a problem with
factors also by an object with the value of each factor. Rewards lie in [0, 1], or in the problem's
`reward_range`. They may be omitted or null if the mean rewards are known in the problem's
specification. The third form is for problems in which only the rewards are late; the path and the
rewards may arrive together or separately.

An episode ends when it reaches a terminal state of the problem, and may then have fewer than H
steps. Steps after the end, the padding, may be sent if they repeat the terminal state without a
reward; they are dropped.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from belated.ledger.problems import ProblemSpec
from belated.ledger.recording.parts import PATH, WHOLE, Parts, end_part
from belated.ledger.recording.values import (
    ContentError,
    check_allowed,
    check_fields,
    check_padding,
    check_rewards_known,
    check_stays,
    parse_index,
    parse_list,
    parse_reward,
    parse_step,
    shorten,
)


def parse_content(content: object, spec: ProblemSpec) -> Parts:
    """Return the parts of the feedback `content`, by name of the part.

    The module docstring describes content and parts. Raises ContentError if `content` is not valid
    for the problem `spec`.
    """
    if not isinstance(content, Mapping):
        raise ContentError(None, f"content must be an object, got {shorten(content)}.")
    if "steps" in content:
        check_fields(content, "steps")
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


def _parse_whole(content: Mapping[str, Any], spec: ProblemSpec) -> dict[str, Any]:
    check_fields(content, "states", "actions", "rewards")
    path, rewards = _parse_path(content, "", spec), content.get("rewards")
    steps = len(path["actions"])
    if rewards is None:
        check_rewards_known("rewards", spec)
    else:
        given = parse_list("rewards", rewards, len(content["actions"]))
        rewards = [parse_reward("rewards", h, r, spec) for h, r in enumerate(given[:steps])]
        for h, reward in enumerate(given[steps:], start=steps):
            check_padding(f"rewards[{h}]", reward)
    return {**path, "rewards": rewards}


def _parse_path(content: Mapping[str, Any], prefix: str, spec: ProblemSpec) -> dict[str, Any]:
    """Return the states and actions in `content` up to the end of the episode."""
    path = {}
    steps = _count_steps(content.get("actions"), spec)
    for name, count, numbers, factors in (
        ("states", steps + 1, spec.state_numbers, spec.factors),
        ("actions", steps, spec.action_numbers, None),
    ):
        field = f"{prefix}{name}"
        values = parse_list(field, content.get(name), count)
        limit = len(numbers)
        path[name] = [
            # fast path for valid indices, without formatting the name of the field
            value
            if type(value) is int and 0 <= value < limit
            else parse_index(f"{field}[{i}]", value, numbers, factors)
            for i, value in enumerate(values)
        ]
    return _trim_path(path, prefix, spec) if spec.shape.is_restricted else path


def _parse_steps(steps: object, spec: ProblemSpec) -> Parts:
    if not isinstance(steps, list | tuple) or not steps:
        raise ContentError(
            "steps", f"steps must be a list of at least one step, got {shorten(steps)}."
        )
    columns = {
        "state": spec.state_numbers,
        "action": spec.action_numbers,
        "next_state": spec.state_numbers,
    }
    parts: Parts = {}
    for i, step in enumerate(steps):
        where = f"steps[{i}]"
        if not isinstance(step, Mapping):
            raise ContentError(where, f"{where} must be an object, got {shorten(step)}.")
        check_fields(step, "step", *columns, "reward", within=where)
        parsed: dict[str, Any] = {
            "step": parse_step(f"{where}.step", step.get("step"), spec.horizon)
        }
        for name, numbers in columns.items():
            factors = None if name == "action" else spec.factors
            parsed[name] = parse_index(f"{where}.{name}", step.get(name), numbers, factors)
        reward = step.get("reward")
        if spec.shape.is_terminal[parsed["state"]]:
            check_stays(where, parsed["state"], parsed["next_state"], spec)
            check_padding(f"{where}.reward", reward)
            continue
        check_allowed(f"{where}.action", parsed["step"], parsed["state"], parsed["action"], spec)
        if reward is None:
            check_rewards_known(f"{where}.reward", spec)
        else:
            reward = parse_reward(f"{where}.reward", None, reward, spec)
        parsed["reward"] = reward
        if parts.setdefault(f"step:{parsed['step']}", parsed) != parsed:
            raise ContentError(
                where,
                f"{where} is step {parsed['step']} again with different content; send each step "
                "once.",
            )
    ordered = dict(sorted(parts.items(), key=lambda item: item[1]["step"]))
    return ordered | _find_end([*ordered.values()], spec)


def _find_end(steps: Sequence[Mapping[str, Any]], spec: ProblemSpec) -> Parts:
    """Return the part which tells that one of `steps`, in order, reaches a terminal state."""
    ends = [step["step"] for step in steps if spec.shape.is_terminal[step["next_state"]]]
    if ends and steps[-1]["step"] > ends[0]:
        raise ContentError(
            "steps",
            f"steps must end with step {ends[0]}, which reaches a terminal state, "
            f"got step {steps[-1]['step']}.",
        )
    return end_part(ends[0] + 1, spec.horizon) if ends else {}


def _parse_path_and_rewards(content: Mapping[str, Any], spec: ProblemSpec) -> Parts:
    check_fields(content, "path", "rewards")
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
            raise ContentError("path", f"path must be an object, got {shorten(path)}.")
        check_fields(path, "states", "actions", within="path")
        parts[PATH] = _parse_path(path, "path.", spec)
    steps = len(parts[PATH]["actions"]) if PATH in parts else spec.horizon
    if "rewards" in content:
        parts |= _parse_rewards(content["rewards"], spec, steps)
    return parts | end_part(steps, spec.horizon)


def _parse_rewards(rewards: object, spec: ProblemSpec, steps: int) -> Parts:
    """Return the parts of `rewards`, by step, of an episode that has at most `steps` steps."""
    horizon = spec.horizon
    if not isinstance(rewards, Mapping) or not rewards:
        raise ContentError(
            "rewards",
            'rewards must be an object with at least one reward by step, such as {"0": 0.5}, '
            f"got {shorten(rewards)}.",
        )
    by_step: dict[int, float] = {}
    for key, value in rewards.items():
        # the length is limited, since Python refuses to convert texts of thousands of digits
        digits = isinstance(key, str) and len(key) < 10 and key.isdecimal() and key.isascii()
        step = int(key) if digits else key
        if type(step) is not int or not 0 <= step < horizon or str(step) != str(key):
            raise ContentError(
                "rewards", f"A step in rewards must lie in 0 .. {horizon - 1}, got {shorten(key)}."
            )
        if step < steps:
            by_step[step] = parse_reward("rewards", step, value, spec)
        else:
            check_padding(f"rewards[{step}]", value)
    return {f"reward:{step}": by_step[step] for step in sorted(by_step)}


def _count_steps(actions: Any, spec: ProblemSpec) -> int:
    """Return the number of steps that the lists of an episode with these `actions` must have."""
    if spec.terminal is None or not hasattr(actions, "__len__"):
        return spec.horizon
    return len(actions) if 0 < len(actions) < spec.horizon else spec.horizon


def _trim_path(path: dict[str, Any], prefix: str, spec: ProblemSpec) -> dict[str, Any]:
    """Return `path` without its padding, after checking terminal states and allowed actions."""
    states, actions, is_terminal = path["states"], path["actions"], spec.shape.is_terminal
    names = spec.states
    end = next((i for i, state in enumerate(states) if is_terminal[state]), None)
    if end is None:
        if len(actions) < spec.horizon:
            raise ContentError(
                f"{prefix}states",
                f"{prefix}states must be a list of {spec.horizon + 1} or end in a terminal state, "
                f"got {len(states)} and the last state {names[states[-1]]!r}.",
            )
        end = len(actions)
    if end == 0:
        raise ContentError(
            f"{prefix}states[0]",
            f"{prefix}states[0] must not be a terminal state, got {names[states[0]]!r}.",
        )
    for i, state in enumerate(states[end + 1 :], start=end + 1):
        check_stays(f"{prefix}states[{i}]", states[end], state, spec)
    for h, action in enumerate(actions[:end]):
        check_allowed(f"{prefix}actions[{h}]", h, states[h], action, spec)
    return {"states": states[: end + 1], "actions": actions[:end]}
