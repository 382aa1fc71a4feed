"""Values in feedback: their validation, and their conversion to indices and rewards.

The parameter `field` of a function is the name of the validated value in error messages.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from belated.factored_states import SEPARATOR
from belated.ledger.problems import ProblemSpec
from belated.ledger.validation import describe_range

MAX_LISTED_NAMES: Final = 10
"""Maximum number of names of states or actions to list in an error message."""


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
    raise ContentError(
        field,
        f"{field} must be one of {list_names(numbers)}, or in 0 .. {len(numbers) - 1}, "
        f"got {shorten(value)}.",
    )


def _check_factors(
    field: str, value: Mapping[str, Any], factors: Mapping[str, Sequence[str]]
) -> None:
    """Raise ContentError unless `value` maps the name of each factor to a value of this factor.

    `factors` maps the names of the factors to their possible values. `field` is the name of the
    state in the error message.
    """
    for name in value:
        if name not in factors:
            raise ContentError(
                field,
                f"{field} has no factor {shorten(name)}; its factors are {', '.join(factors)}.",
            )
    for name, known in factors.items():
        if name not in value:
            raise ContentError(
                field, f"{field} needs the factor {name!r}, one of {list_names(known)}."
            )
        if str(value[name]) not in known:
            where = f"{field}.{name}"
            raise ContentError(
                where, f"{where} must be one of {list_names(known)}, got {shorten(value[name])}."
            )


def list_names(names: Iterable[str]) -> str:
    """Return at most the first `MAX_LISTED_NAMES` of `names`, joined by commas.

    The text ends with "..." if there are more names.
    """
    listed = list(islice(names, MAX_LISTED_NAMES + 1))
    more = ", ..." if len(listed) > MAX_LISTED_NAMES else ""
    return ", ".join(listed[:MAX_LISTED_NAMES]) + more


def check_stays(field: str, terminal: int, state: int, spec: ProblemSpec) -> None:
    """Raise ContentError if `state` differs from `terminal`, the state in which the episode ended.

    Both are indices of states of the problem `spec`. `field` is the name of `state` in the error
    message.
    """
    if state != terminal:
        raise ContentError(
            field,
            f"{field} must stay in {spec.states[terminal]!r}, the terminal state that the episode "
            f"has reached, got {spec.states[state]!r}.",
        )


def check_padding(field: str, reward: object) -> None:
    """Raise ContentError unless `reward`, of a step after the end of an episode, is 0 or None.

    `field` is the name of the reward in the error message.
    """
    if reward is not None and reward != 0:
        raise ContentError(
            field,
            f"{field} must be 0 after the episode has reached a terminal state, "
            f"got {shorten(reward)}.",
        )


def check_allowed(field: str, step: int, state: int, action: int, spec: ProblemSpec) -> None:
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
        raise ContentError(
            field,
            f"{field} must be allowed in state {spec.states[state]!r} at step {step} ({names}), "
            f"got {spec.actions[action]!r}.",
        )


def check_rewards_known(field: str, spec: ProblemSpec) -> None:
    """Raise ContentError unless the mean rewards are known in the problem `spec`.

    Call this function if a reward is missing in feedback. `field` is the name of the reward in the
    error message.
    """
    if spec.rewards is None:
        raise ContentError(
            field,
            f"{field} is missing; feedback must contain the rewards, since they are not known.",
        )


def parse_list(field: str, values: Any, count: int) -> Any:
    """Return `values` as a list or tuple if it is a list, tuple or array of `count` items.

    Otherwise raises ContentError; the message refers to the values as `field`.
    """
    to_list: Callable[[], Any] | None = getattr(values, "tolist", None)
    values = to_list() if to_list is not None else values
    if not isinstance(values, list | tuple) or len(values) != count:
        got = count_items(len(values)) if isinstance(values, list | tuple) else shorten(values)
        raise ContentError(field, f"{field} must be a list of {count_items(count)}, got {got}.")
    return values


def count_items(count: int, noun: str = "item") -> str:
    """Return a text with the number `count` and the `noun`, in the singular or plural.

    >>> count_items(1), count_items(2, "step")
    ('1 item', '2 steps')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def parse_step(field: str, value: Any, horizon: int) -> int:
    """Return `value` if it is the index of a step, an integer from 0 to `horizon` - 1.

    Otherwise raises ContentError; the message refers to the value as `field`.
    """
    if type(value) is int and 0 <= value < horizon:
        return value
    raise ContentError(field, f"{field} must lie in 0 .. {horizon - 1}, got {shorten(value)}.")


def parse_reward(field: str, i: int | None, value: Any, spec: ProblemSpec) -> float:
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
    raise ContentError(where, f"{where} {expected}, got {shorten(value)}.")


def check_fields(given: Mapping[str, Any], *names: str, within: str = "content") -> None:
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
