"""Content of feedback: its formats, its validation, and its conversion to parts.

Parts are described in `belated.ledger.recording.parts`. Content has one of the forms

    {"states": [s_1 .. s_H+1], "actions": [a_1 .. a_H], "rewards": [r_1 .. r_H]}
    {"steps": [{"step": h, "state": s, "action": a, "next_state": y, "reward": r}, ...]}
    {"path": {"states": [...], "actions": [...]}, "rewards": {h: r, ...}}

where s_i, a_i and r_i are the state, action and reward of the i-th step, h is the index of a step
from 0, and s, a, y and r are the state, action, next state and reward of step h. H is the horizon.

A state or an action is given as its name (a text) or its index (a number). A state of a problem
with factors may also be given as an object with the value of each factor. Rewards lie in [0, 1], or
in the problem's `reward_range`. They may be omitted or null if the mean rewards are known in the
problem's specification. The third form is for problems in which only the rewards are late; the path
and the rewards may arrive together or separately.

An episode ends when it reaches a terminal state of the problem, and may then have fewer than H
steps. Steps after the end, the padding, may be sent if they repeat the terminal state without a
reward; they are dropped.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from belated.ledger.problems import ProblemSpec
from belated.ledger.recording.parts import PATH, WHOLE, Parts, end_part
from belated.ledger.recording.steps import parse_steps
from belated.ledger.recording.values import (
    ContentError,
    check_allowed,
    check_fields,
    check_padding,
    check_rewards_known,
    check_stays,
    count_items,
    parse_index,
    parse_list,
    parse_reward,
    shorten,
)


class UnusableContent(NamedTuple):
    """Content of feedback that was found to be invalid before it reached the ledger."""

    value: Any
    """Invalid content as received; it is stored in the quarantine."""
    field: str | None
    """Name of the invalid field; None if the content as a whole is invalid."""
    reason: str
    """The error message."""


def parse_content(content: object, spec: ProblemSpec, *, received: bool = False) -> Parts:
    """Validate the content of feedback, and convert it to parts.

    Parameters
    ----------
    content : object
        Content of the feedback, as described in the module docstring.
    spec : ProblemSpec
        The problem.
    received : bool
        True if the content comes from a request, False if it is stored in the ledger. Steps in a
        request must join: each one begins in the state to which the step before it leads.

    Returns
    -------
    Parts
        Map from the name of each part to its value; see `belated.ledger.recording.parts`.

    Raises
    ------
    ContentError
        If `content` is not valid for the problem.
    """
    if not isinstance(content, Mapping):
        if isinstance(content, UnusableContent):
            raise ContentError(content.field, content.reason)
        raise ContentError(None, f"content must be an object, got {shorten(content)}.")
    if "steps" in content:
        check_fields(content, "steps")
        return parse_steps(content["steps"], spec, received=received)
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
    """Return the states and actions in `content`, as indices, up to the end of the episode.

    `prefix` precedes the names of the fields in error messages.
    """
    path = {}
    steps = _count_steps(content.get("actions"), spec)
    for name, count, numbers, factors in (
        ("states", steps + 1, spec.state_numbers, spec.factors),
        ("actions", steps, spec.action_numbers, None),
    ):
        field = f"{prefix}{name}"
        try:
            values = parse_list(field, content.get(name), count)
        except ContentError:
            if spec.terminal is not None:
                _check_lengths(content, prefix)
            raise
        limit = len(numbers)
        path[name] = [
            # fast path for valid indices, without formatting the name of the field
            value
            if type(value) is int and 0 <= value < limit
            else parse_index(f"{field}[{i}]", value, numbers, factors)
            for i, value in enumerate(values)
        ]
    return _trim_path(path, prefix, spec) if spec.shape.is_restricted else path


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
    """Convert `rewards`, a mapping from steps to rewards, to one part for each reward.

    The episode has at most `steps` steps. Rewards of later steps must be 0 or None, and are
    dropped. Raises ContentError if a step or a reward is not valid.
    """
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
    """Return the number of steps that the lists of a whole episode or of a path must describe.

    The lists of actions and rewards must have this length, and the list of states one item more. It
    is the horizon or, if the problem has terminal states, the length of the list `actions`, but at
    most the horizon.
    """
    if spec.terminal is None or not hasattr(actions, "__len__"):
        return spec.horizon
    return min(len(actions), spec.horizon)


def _check_lengths(content: Mapping[str, Any], prefix: str) -> None:
    """Raise ContentError if `content` does not have exactly one state more than actions.

    Use this check if the problem has terminal states, so that episodes have different numbers of
    steps. `prefix` precedes the names of the fields in the error message.
    """
    states, actions = content.get("states"), content.get("actions")
    if isinstance(states, list) and isinstance(actions, list) and len(states) != len(actions) + 1:
        raise ContentError(
            None,
            f"{prefix}states must have one item more than {prefix}actions, got "
            f"{count_items(len(states), 'state')} and {count_items(len(actions), 'action')}.",
        )


def _trim_path(path: dict[str, Any], prefix: str, spec: ProblemSpec) -> dict[str, Any]:
    """Return `path` without its padding, the steps after it has reached a terminal state.

    Raises ContentError if the path ends neither at the horizon nor in a terminal state, if it
    begins in a terminal state or leaves one, or if an action is not allowed. `prefix` precedes the
    names of the fields in error messages.
    """
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
