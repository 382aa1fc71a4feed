"""Content of feedback: its formats, its validation, and its conversion to columns.

Content has one of the forms

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

import json
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from belated.factored_states import SEPARATOR
from belated.ledger.problems import ProblemSpec, describe_range, list_names
from belated.padding import find_end, find_move

Form = Literal["whole", "steps", "path"]
"""Form in which an episode arrives: as a whole, as single steps, or as a path and rewards."""

Part: TypeAlias = tuple[str, int]
"""Smallest unit of feedback that can arrive: "whole", "path", "step", "reward" or "end", and the
number of the step; -1 for a whole episode and a path. Part "end" marks an episode that ends before
the horizon, and its number is the number of steps."""


class PaddingStep(NamedTuple):
    """Step after the end of an episode, in a request that does not contain the end."""

    where: str
    """Path of the step in the request, such as "steps[0]"."""
    step: int
    state: int


class Columns(NamedTuple):
    """Feedback of one episode with one row for each step, in order of the steps.

    States and actions are indices. They are None in all rows if only rewards have arrived, and a
    reward is None if it has not arrived or is not needed.
    """

    form: Form
    steps: list[int]
    states: list[Any]
    actions: list[Any]
    next_states: list[Any]
    rewards: list[float | None]
    has_path: bool = True
    """Whether the states and actions have arrived."""
    padding: tuple[PaddingStep, ...] = ()
    """Padding that has to be compared with the end of the episode, here or in earlier feedback."""

    @classmethod
    def of_path(
        cls,
        form: Form,
        states: Sequence[int],
        actions: Sequence[int],
        rewards: Sequence[float] | None = None,
    ) -> "Columns":
        """Return the columns of a path, which has one state more than actions."""
        steps = list(range(len(actions)))
        paid: list[float | None] = [*rewards] if rewards is not None else [None] * len(steps)
        return cls(form, steps, list(states[:-1]), list(actions), list(states[1:]), paid)

    @classmethod
    def of_steps(cls, rows: Mapping[int, Sequence[Any]]) -> "Columns":
        """Return the columns of single steps: a map from the number of a step to its row.

        A row has the state, the action, the next state and the reward.
        """
        states, actions, next_states, rewards = (
            [row[place] for row in rows.values()] for place in range(4)
        )
        return cls("steps", list(rows), states, actions, next_states, rewards)

    @classmethod
    def of_rewards(cls, rewards: Mapping[int, float], path: "Columns | None") -> "Columns":
        """Return the columns of rewards by step and of the `path`; None if it has not arrived."""
        if path is not None:
            return path._replace(rewards=[rewards.get(step) for step in path.steps])
        none = [None] * len(rewards)
        paid: list[float | None] = list(rewards.values())
        return cls("path", list(rewards), none, none, none, paid, has_path=False)

    def end(self, spec: ProblemSpec) -> tuple[int, int] | None:
        """Return the number of steps and the state at the end of the episode, if it is a row.

        The end is the first row whose next state is terminal.
        """
        if not self.has_path or spec.terminal is None:
            return None
        is_terminal = spec.shape.is_terminal
        ends = zip(self.steps, self.next_states, strict=True)
        return next(((step + 1, state) for step, state in ends if is_terminal[state]), None)

    def rows(self) -> dict[int, tuple[Any, Any, Any, float | None]]:
        """Return a map from the number of each step to its state, action, next state and reward."""
        rows = zip(self.states, self.actions, self.next_states, self.rewards, strict=True)
        return dict(zip(self.steps, rows, strict=True))

    def known_rewards(self) -> dict[int, float]:
        """Return a map from the number of each step to its reward, without those that are None."""
        paid = zip(self.steps, self.rewards, strict=True)
        return {step: reward for step, reward in paid if reward is not None}

    def known_states(self) -> dict[int, tuple[int, int]]:
        """Return a map from the number of each step to its state and its next state."""
        return {step: (row[0], row[2]) for step, row in self.rows().items() if self.has_path}

    def parts(self, form: Form, spec: ProblemSpec) -> dict[Part, Any]:
        """Return the parts of this feedback with their content, if the episode has arrived as
        `form`; a whole episode can be divided into any form."""
        states = (*self.states, *self.next_states[-1:])
        if form == "whole":
            return {("whole", -1): (states, tuple(self.actions), tuple(self.rewards))}
        parts: dict[Part, Any]
        if form == "steps":
            parts = {("step", step): row for step, row in self.rows().items()}
        else:
            parts = {("path", -1): (states, tuple(self.actions))} if self.has_path else {}
            parts |= {("reward", step): reward for step, reward in self.known_rewards().items()}
        end = self.end(spec)
        return parts if end is None or end[0] == spec.horizon else parts | {("end", end[0]): True}

    def only(self, form: Form, parts: Collection[Part]) -> "Columns":
        """Return the columns of those `parts` of an episode that has arrived as `form`."""
        if form == "whole":
            return self
        if form == "steps":
            rows = self.rows().items()
            return Columns.of_steps({step: row for step, row in rows if ("step", step) in parts})
        paid = self.known_rewards().items()
        path = self._replace(form="path") if ("path", -1) in parts else None
        return Columns.of_rewards({h: r for h, r in paid if ("reward", h) in parts}, path)

    def content(self) -> dict[str, Any]:
        """Return the columns as content of feedback, as described in `belated.ledger.content`."""
        path = {"states": [*self.states, *self.next_states[-1:]], "actions": self.actions}
        if self.form == "whole":
            return {**path, "rewards": None if None in self.rewards else self.rewards}
        if self.form == "steps":
            names = ("step", "state", "action", "next_state", "reward")
            rows = ((step, *row) for step, row in self.rows().items())
            return {"steps": [dict(zip(names, row, strict=True)) for row in rows]}
        rewards = {str(step): reward for step, reward in self.known_rewards().items()}
        content: dict[str, Any] = {"path": path} if self.has_path else {}
        return {**content, "rewards": rewards} if rewards else content


def is_complete(feedback: Collection[Columns], spec: ProblemSpec) -> bool:
    """Return whether all steps of an episode have arrived with `feedback`, all of it."""
    if any(columns.form == "whole" for columns in feedback):
        return True
    ends = [end[0] for end in (columns.end(spec) for columns in feedback) if end is not None]
    arrived: set[int] = set()
    for columns in feedback:
        arrived |= {*columns.steps} if columns.form == "steps" else {*columns.known_rewards()}
    has_path = any(columns.has_path for columns in feedback)
    return has_path and len(arrived) >= min(ends, default=spec.horizon)


MAX_SHOWN_CHARS: Final = 60
"""Maximum number of characters of a value in an error message."""


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


def _unexpected(field: str, expected: str, got: object) -> ContentError:
    """Return the error that the value `got` of a field is not as expected."""
    return ContentError(field, f"{field} {expected}, got {shorten(got)}.")


class UnusableContent(NamedTuple):
    """Content of feedback that was found to be invalid before it reached the ledger."""

    value: Any
    """Invalid content as received; it is stored in the quarantine."""
    field: str | None
    """Name of the invalid field; None if the content as a whole is invalid."""
    reason: str
    """The error message."""


def parse_content(content: object, spec: ProblemSpec) -> Columns:
    """Validate the content of feedback, and convert it to columns.

    Parameters
    ----------
    content : object
        Content of the feedback, as described in the module docstring.
    spec : ProblemSpec
        The problem.

    Returns
    -------
    Columns
        The steps. It is not checked whether they join, since early versions recorded steps that do
        not.

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
        _check_fields(content, "steps")
        return _parse_steps(content["steps"], spec)
    if "states" in content or "actions" in content:
        return _parse_whole(content, spec)
    if "path" in content or "rewards" in content:
        return _parse_path_and_rewards(content, spec)
    raise ContentError(
        None, "content must have states and actions, or steps, or a path, or rewards."
    )


def _parse_whole(content: Mapping[str, Any], spec: ProblemSpec) -> Columns:
    _check_fields(content, "states", "actions", "rewards")
    states, actions = _parse_path(content, "", spec)
    rewards, steps = content.get("rewards"), len(actions)
    if rewards is None:
        _check_rewards_known("rewards", spec)
        return Columns.of_path("whole", states, actions)
    given = _parse_list("rewards", rewards, len(content["actions"]))
    parsed = [_parse_reward("rewards", h, r, spec) for h, r in enumerate(given[:steps])]
    for h, reward in enumerate(given[steps:], steps):
        _check_no_reward(f"rewards[{h}]", reward)
    return Columns.of_path("whole", states, actions, parsed)


def _parse_path(
    content: Mapping[str, Any], prefix: str, spec: ProblemSpec
) -> tuple[list[int], list[int]]:
    """Return the states and actions in `content`, as indices, up to the end of the episode.

    `prefix` precedes the names of the fields in error messages.
    """
    states, actions = content.get("states"), content.get("actions")
    steps = spec.horizon
    if spec.terminal is not None and isinstance(actions, Sized):
        steps = min(len(actions), spec.horizon)
    names = spec.state_numbers, spec.factors
    path = (
        _parse_indices(f"{prefix}states", states, steps + 1, *names),
        _parse_indices(f"{prefix}actions", actions, steps, spec.action_numbers, None),
    )
    return _trim_path(*path, prefix, spec) if spec.shape.is_restricted else path


def _parse_indices(
    field: str,
    values: Any,
    count: int,
    numbers: Mapping[str, int],
    factors: Mapping[str, Sequence[str]] | None,
) -> list[int]:
    """Return the indices of a list of `count` states or actions; see `parse_index`."""
    limit = len(numbers)
    return [
        # fast path for valid indices, without formatting the name of the field
        value
        if type(value) is int and 0 <= value < limit
        else parse_index(f"{field}[{i}]", value, numbers, factors)
        for i, value in enumerate(_parse_list(field, values, count))
    ]


def _parse_path_and_rewards(content: Mapping[str, Any], spec: ProblemSpec) -> Columns:
    _check_fields(content, "path", "rewards")
    if spec.late != "rewards":
        raise ContentError(
            "path" if "path" in content else "rewards",
            f"A path and rewards may arrive separately only if late is 'rewards'; it is "
            f"{spec.late!r} here, so content must have states and actions, or steps.",
        )
    columns, end = None, spec.horizon
    if "path" in content:
        path = content["path"]
        if not isinstance(path, Mapping):
            raise _unexpected("path", "must be an object", path)
        _check_fields(path, "states", "actions", within="path")
        states, actions = _parse_path(path, "path.", spec)
        columns, end = Columns.of_path("path", states, actions), len(actions)
    rewards = _parse_rewards(content["rewards"], spec, end) if "rewards" in content else {}
    return Columns.of_rewards(rewards, columns)


def _parse_rewards(rewards: object, spec: ProblemSpec, end: int) -> dict[int, float]:
    """Return `rewards` as a map from steps to rewards, in order of the steps.

    The episode has at most `end` steps. Rewards of later steps are padding, which is dropped.
    Raises ContentError if a step or a reward is not valid.
    """
    horizon = spec.horizon
    if not isinstance(rewards, Mapping) or not rewards:
        expected = 'must be an object with at least one reward by step, such as {"0": 0.5}'
        raise _unexpected("rewards", expected, rewards)
    places = {str(step): step for step in range(horizon)}
    by_step: dict[int, float] = {}
    for key, value in rewards.items():
        step = places.get(str(key)) if type(key) in (int, str) else None
        if step is None:
            raise ContentError(
                "rewards", f"A step in rewards must lie in 0 .. {horizon - 1}, got {shorten(key)}."
            )
        if step < end:
            by_step[step] = _parse_reward("rewards", step, value, spec)
        else:
            _check_no_reward(f"rewards[{step}]", value)
    return {step: by_step[step] for step in sorted(by_step)}


def _parse_steps(steps: object, spec: ProblemSpec) -> Columns:
    """Return the columns of a list of steps, which may be in any order.

    Padding is kept in `Columns.padding`. Raises ContentError if the steps are not valid.
    """
    if not isinstance(steps, list | tuple) or not steps:
        raise _unexpected("steps", "must be a list of at least one step", steps)
    rows: dict[int, tuple[Any, ...]] = {}
    padding: list[PaddingStep] = []
    for i, given in enumerate(steps):
        where = f"steps[{i}]"
        step, *row = _parse_step(where, given, spec)
        if spec.shape.is_terminal[row[0]]:
            padding.append(PaddingStep(where, step, row[0]))
            continue
        if rows.setdefault(step, tuple(row)) != tuple(row):
            raise ContentError(
                where, f"{where} is step {step} again with different content; send each step once."
            )
    columns = Columns.of_steps({step: rows[step] for step in sorted(rows)})
    end = columns.end(spec)
    if end is not None and columns.steps[-1] >= end[0]:
        raise ContentError(
            "steps",
            f"steps must end with step {end[0] - 1}, which reaches a terminal state, "
            f"got step {columns.steps[-1]}.",
        )
    return columns._replace(padding=tuple(padding))


def _parse_step(where: str, step: object, spec: ProblemSpec) -> tuple[Any, ...]:
    """Check one step of feedback, and return it as a tuple with indices instead of names.

    The tuple has the step, the state, the action, the next state and the reward, which is None in
    padding. `where` is the path of the step in the feedback, such as "steps[0]".
    """
    if not isinstance(step, Mapping):
        raise _unexpected(where, "must be an object", step)
    _check_fields(step, "step", "state", "action", "next_state", "reward", within=where)
    number, horizon = step.get("step"), spec.horizon
    if type(number) is not int or not 0 <= number < horizon:
        raise _unexpected(f"{where}.step", f"must lie in 0 .. {horizon - 1}", number)
    names = spec.state_numbers, spec.factors
    state = parse_index(f"{where}.state", step.get("state"), *names)
    action = parse_index(f"{where}.action", step.get("action"), spec.action_numbers)
    next_state = parse_index(f"{where}.next_state", step.get("next_state"), *names)
    reward = step.get("reward")
    if spec.shape.is_terminal[state]:
        _check_stays(where, state, next_state, spec)
        _check_no_reward(f"{where}.reward", reward)
        return number, state, action, next_state, None
    _check_allowed(f"{where}.action", number, state, action, spec)
    if reward is None:
        _check_rewards_known(f"{where}.reward", spec)
    else:
        reward = _parse_reward(f"{where}.reward", None, reward, spec)
    return number, state, action, next_state, reward


def _trim_path(
    states: list[int], actions: list[int], prefix: str, spec: ProblemSpec
) -> tuple[list[int], list[int]]:
    """Return the states and actions of a path without its padding.

    Raises ContentError if the path ends neither at the horizon nor in a terminal state, if it
    begins in a terminal state or leaves one, or if an action is not allowed. `prefix` precedes the
    names of the fields in error messages.
    """
    names, end = spec.states, find_end(states, spec.shape)
    if end is None:
        if len(actions) < spec.horizon:
            raise ContentError(
                f"{prefix}states",
                f"{prefix}states must be a list of {spec.horizon + 1} or end in a terminal state, "
                f"got {len(states)} and the last state {names[states[-1]]!r}.",
            )
        end = len(actions)
    if end == 0:
        raise _unexpected(f"{prefix}states[0]", "must not be a terminal state", names[states[0]])
    moved = find_move(states, end)
    if moved is not None:
        _check_stays(f"{prefix}states[{moved}]", states[end], states[moved], spec)
    for h, action in enumerate(actions[:end]):
        _check_allowed(f"{prefix}actions[{h}]", h, states[h], action, spec)
    return states[: end + 1], actions[:end]


def parse_index(
    field: str,
    value: Any,
    numbers: Mapping[str, int],
    factors: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Return the index of a state or action that is given by name, by index or by factors.

    Parameters
    ----------
    field : str
        Name of the field in error messages.
    value : str, int or mapping
        Name or index of the state or action, or a mapping from the name of each factor to its
        value.
    numbers : mapping
        Map from the name of each state or action to its index.
    factors : mapping, optional
        Map from the name of each factor of the states to its possible values; None if there are no
        factors.

    Returns
    -------
    int
        The index.

    Raises
    ------
    ContentError
        If `value` does not identify a state or action.

    >>> parse_index("state", "well", {"ill": 0, "well": 1}), parse_index("state", 0, {"ill": 0})
    (1, 0)
    """
    if factors is not None and isinstance(value, Mapping):
        _check_factors(field, value, factors)
        value = SEPARATOR.join(str(value[name]) for name in factors)
    found = numbers.get(value) if type(value) is str else value
    if type(found) is int and 0 <= found < len(numbers):
        return found
    expected = f"must be one of {list_names(numbers)}, or in 0 .. {len(numbers) - 1}"
    raise _unexpected(field, expected, value)


def _check_factors(
    field: str, value: Mapping[str, Any], factors: Mapping[str, Sequence[str]]
) -> None:
    """Raise ContentError unless `value` maps the name of each factor to a value of this factor.

    `factors` maps the names of the factors to their possible values. `field` is the name of the
    state in the error message.
    """
    for name in (*value, *factors):
        if name not in factors:
            known = f"its factors are {', '.join(factors)}"
            raise ContentError(field, f"{field} has no factor {shorten(name)}; {known}.")
        expected = f"one of {list_names(factors[name])}"
        if name not in value:
            raise ContentError(field, f"{field} needs the factor {name!r}, {expected}.")
        if str(value[name]) not in factors[name]:
            raise _unexpected(f"{field}.{name}", f"must be {expected}", value[name])


def _check_stays(field: str, terminal: int, state: int, spec: ProblemSpec) -> None:
    """Raise ContentError if `state` differs from `terminal`, the state in which the episode ended.

    Both are indices of states of the problem `spec`. `field` is the name of `state` in the error
    message.
    """
    if state != terminal:
        ended = f"{spec.states[terminal]!r}, the terminal state that the episode has reached"
        raise _unexpected(field, f"must stay in {ended}", spec.states[state])


def _check_no_reward(field: str, reward: object) -> None:
    if reward is not None and reward != 0:
        expected = "must be 0 after the episode has reached a terminal state"
        raise _unexpected(field, expected, reward)


def _check_allowed(field: str, step: int, state: int, action: int, spec: ProblemSpec) -> None:
    """Raise ContentError if an action is not allowed in a state at a step.

    Parameters
    ----------
    field : str
        Name of the action in the error message.
    step, state, action : int
        Indices of the step, of a state that is not terminal, and of the action.
    spec : ProblemSpec
        The problem.
    """
    allowed = spec.shape.allowed
    if allowed is not None and not allowed[step, state, action]:
        names = ", ".join(spec.actions[a] for a in allowed[step, state].nonzero()[0])
        expected = f"must be allowed in state {spec.states[state]!r} at step {step} ({names})"
        raise _unexpected(field, expected, spec.actions[action])


def _check_rewards_known(field: str, spec: ProblemSpec) -> None:
    """Raise ContentError unless the mean rewards are known in the problem `spec`.

    Call this function if a reward is missing in feedback. `field` is the name of the reward in the
    error message.
    """
    if spec.rewards is None:
        reason = "is missing; feedback must contain the rewards, since they are not known."
        raise ContentError(field, f"{field} {reason}")


def _parse_list(field: str, values: Any, count: int) -> Any:
    """Return `values` as a list or tuple if it is a list, tuple or array of `count` items.

    Otherwise raises ContentError; the message refers to the values as `field`.
    """
    to_list: Callable[[], Any] | None = getattr(values, "tolist", None)
    values = to_list() if to_list is not None else values
    if not isinstance(values, list | tuple) or len(values) != count:
        got = count_items(len(values)) if isinstance(values, list | tuple) else shorten(values)
        raise ContentError(field, f"{field} must be a list of {count_items(count)}, got {got}.")
    return values


def _parse_reward(field: str, i: int | None, value: Any, spec: ProblemSpec) -> float:
    """Validate a reward, and return it as a float.

    Parameters
    ----------
    field : str
        Name of the reward, or of the list or object that contains it.
    i : int or None
        Index of the reward in the list or object; None if `field` is the reward.
    value : object
        The reward, in the units of the problem.
    spec : ProblemSpec
        The problem.

    Returns
    -------
    float
        The reward, in the units of the problem.

    Raises
    ------
    ContentError
        If `value` is not a number in the range of the rewards.
    """
    low, high = spec.reward_range or (0, 1)
    is_number = type(value) in (int, float)
    # adding 0.0 turns -0.0 into 0.0, so that equal numbers have equal text
    if is_number and low <= value <= high:
        return value + 0.0
    where = field if i is None else f"{field}[{i}]"
    expected = describe_range(spec.reward_range) if is_number else "must be a number"
    raise _unexpected(where, expected, value)


def _check_fields(given: Mapping[str, Any], *names: str, within: str = "content") -> None:
    """Raise ContentError if the object `given` has a field that is not one of `names`.

    `within` is the name of the object in the error message.
    """
    for key in given:
        if key not in names:
            whole = within == "content"
            known = (*names, "event_time") if whole else names  # it is not part of the content
            field = None if whole else within
            if isinstance(key, str) and key.isidentifier() and len(key) <= MAX_SHOWN_CHARS:
                field = key if whole else f"{within}.{key}"
            raise ContentError(
                field, f"{within} must have only the fields {', '.join(known)}, got {shorten(key)}."
            )


def shorten(value: object) -> str:
    """Return `value` as text, shortened to at most `MAX_SHOWN_CHARS` characters.

    None, booleans and floats are written as in JSON, other values as in Python.

    >>> shorten(True), shorten(float("nan")), shorten("ill")
    ('true', 'NaN', "'ill'")
    """
    is_constant = value is None or isinstance(value, bool | float)
    text = json.dumps(value) if is_constant else repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 3]}..."


def count_items(count: int, noun: str = "item") -> str:
    """Return a text with the number `count` and the `noun`, in the singular or plural.

    >>> count_items(1), count_items(2, "step")
    ('1 item', '2 steps')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
