"""Validation of the fields of a problem; a function checks one field."""

import math
import reprlib
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_text
from belated.episode import Floats, Shape
from belated.factored_states import States

AllowedNames: TypeAlias = dict[str, list[str]]
"""Map from the name of a state to the names of the actions that are allowed in it."""


def check_range(value: object) -> tuple[float, float]:
    """Return the range of rewards `value` as a pair of floats (low, high).

    Raises TypeError or ValueError unless `value` is a list of two finite numbers, low < high.
    """
    if (
        not isinstance(value, Sequence)
        or len(value) != 2
        or not all(type(end) in (int, float) for end in value)
    ):
        raise TypeError(f"reward_range must be a list of two numbers, got {value!r}.")
    low, high = (float(end) + 0.0 for end in value)
    if not -math.inf < low < high < math.inf or not math.isfinite(high - low):
        raise ValueError(
            f"reward_range must be [low, high] with finite numbers and low < high, got {value!r}."
        )
    return low, high


def describe_range(reward_range: tuple[float, float] | None) -> str:
    """Return the part of an error message which says where rewards must lie.

    `reward_range` is the range of the rewards of the problem; None for [0, 1].

    >>> describe_range((-5.0, 20.0))
    'must lie in [-5, 20], the reward_range of the problem'
    """
    if reward_range is None:
        return "must lie in [0, 1] unless the problem is defined with a reward_range [low, high]"
    low, high = reward_range
    return f"must lie in [{low:g}, {high:g}], the reward_range of the problem"


def check_names(name: str, value: object) -> tuple[str, ...]:
    """Return `value` as a tuple if it is a list of one or more names that are all different.

    A name is a text that `check_text` accepts. Raises TypeError or ValueError if `value` is not
    such a list; the message refers to the value as `name`.
    """
    if not isinstance(value, tuple | list) or not value:
        raise TypeError(f"{name} must be a list of at least one name, got {value!r}.")
    names: dict[str, None] = {}
    for i, item in enumerate(value):
        if check_text(f"{name}[{i}]", item) in names:
            raise ValueError(f"{name} must be different names, got {item!r} twice.")
        names[item] = None
    return tuple(names)


def check_states(
    states: object, state_factors: object
) -> tuple[tuple[str, ...], list[dict[str, Any]] | None]:
    """Validate the states of a problem and their factors.

    A factor is a property of a state. If a problem has factors, its states are all combinations of
    their values.

    Parameters
    ----------
    states : object
        List of the names of the states, or a mapping from the name of each factor to its values.
    state_factors : object
        List of factors, each a mapping {"name": ..., "values": [...]}. None if the problem has no
        factors, or if `states` is a mapping.

    Returns
    -------
    tuple
        Names of all states; and the list of factors in the form of `state_factors`, or None if the
        problem has no factors.

    Raises
    ------
    TypeError or ValueError
        If an argument is malformed, or if both are given and `states` does not list the names of
        all combinations of the factors.
    """
    if isinstance(states, Mapping):
        if state_factors is not None:
            raise ValueError("state_factors must be omitted if states is a mapping of factors.")
        factors: Mapping[str, Sequence[str]] = states
    elif state_factors is None:
        return check_names("states", states), None
    else:
        if not isinstance(state_factors, list | tuple) or not all(
            isinstance(factor, Mapping) and set(factor) == {"name", "values"}
            for factor in state_factors
        ):
            raise TypeError("state_factors must be a list of objects with a name and values.")
        factors = {factor["name"]: factor["values"] for factor in state_factors}
    for name, values in factors.items():
        check_text("The name of a factor", name)
        if not isinstance(values, list | tuple):
            raise TypeError(f"values of {name} must be a list, got {values!r}.")
    if not isinstance(states, Mapping):
        listed_states = check_names("states", states)
        # first by number, since all combinations of the factors may not fit into memory
        combinations = math.prod(len(values) for values in factors.values())
        if combinations != len(listed_states) or States(factors).names != listed_states:
            raise ValueError("states must be the names of all combinations of state_factors.")
    product = States(factors)
    listed = [{"name": name, "values": list(each)} for name, each in product.factors.items()]
    return check_names("states", product.names), listed


def check_terminal(value: object, states: Sequence[str]) -> tuple[str, ...] | None:
    """Return the terminal states in the order of `states`; None if `value` is None or empty.

    Raises TypeError or ValueError unless `value` is a list of some of the `states`, but not of all.
    """
    if value is None or value == [] or value == ():
        return None
    names = dict.fromkeys(check_names("terminal", value))
    known = dict.fromkeys(states)
    for i, name in enumerate(names):
        _check_known(f"terminal[{i}]", name, known)
    if len(names) == len(known):
        raise ValueError("terminal must not contain all states; episodes start in another one.")
    return tuple(name for name in states if name in names)


def check_allowed(
    value: object, states: Sequence[str], actions: Sequence[str], horizon: int
) -> AllowedNames | list[AllowedNames] | None:
    """Return the allowed actions of a problem, with lists of actions in the order of `actions`.

    Parameters
    ----------
    value : object
        Mapping from names of states to lists of names of actions, or one such mapping for each
        step; None if all actions are allowed.
    states, actions : sequence of str
        Names of the states and actions.
    horizon : int
        Number of steps.

    Returns
    -------
    dict, list of dict, or None
        The allowed actions, in the same form as `value`; None if all actions are allowed.

    Raises
    ------
    TypeError or ValueError
        If `value` is malformed, or if a state would be left without an action.
    """
    known = dict.fromkeys(states), dict.fromkeys(actions)
    if isinstance(value, list | tuple):
        if len(value) != horizon:
            raise ValueError(
                f"allowed must be an object, or a list of {horizon}, one object for each step, "
                f"got a list of {len(value)}."
            )
        steps = [_check_allowed(f"allowed[{h}]", each, *known) for h, each in enumerate(value)]
        return steps if any(steps) else None
    return (None if value is None else _check_allowed("allowed", value, *known)) or None


def _check_allowed(
    field: str, value: object, states: Mapping[str, None], actions: Mapping[str, None]
) -> AllowedNames:
    if not isinstance(value, Mapping):
        raise TypeError(f"{field} must be an object of lists of actions by state, got {value!r}.")
    found = {}
    for state, given in value.items():
        _check_known(f"A state in {field}", state, states)
        where = f"{field}[{state!r}]"
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(
                f"{where} must be a list of at least one action, got {given!r}; a state in which "
                "episodes end belongs to terminal."
            )
        for i, action in enumerate(given):
            _check_known(f"{where}[{i}]", action, actions)
        allowed = set(given)
        found[state] = [action for action in actions if action in allowed]
    return found


def _check_known(field: str, value: object, names: Mapping[str, None]) -> None:
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(list(names)[:10]) + (", ..." if len(names) > 10 else "")
        raise ValueError(f"{field} must be one of {listed}, got {value!r}.")


def check_rewards(
    value: ArrayLike, shape: Shape, reward_range: tuple[float, float] | None
) -> Floats:
    """Return known mean rewards as a read-only array of shape (S, A) or (H, S, A).

    `shape` is the shape of the problem: H steps, S states and A actions. `reward_range` is the
    range of its rewards; None for [0, 1]. Raises TypeError or ValueError if `value` is not a table
    of this shape, or if a reward is out of range.
    """
    H, S, A = shape.table
    try:
        kinds = set(map(type, np.array(value, np.object_).flat))
        if bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
            raise TypeError
        table = np.array(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"rewards must be a rectangular table of numbers, got {reprlib.repr(value)}."
        ) from None
    if table.shape not in ((S, A), (H, S, A)):
        raise ValueError(
            f"rewards must have shape {(S, A)}, or {(H, S, A)} by step, got {table.shape}."
        )
    low, high = reward_range or (0, 1)
    outside = table[~((table >= low) & (table <= high))]
    if outside.size:
        raise ValueError(f"rewards {describe_range(reward_range)}, got {outside[0]:g}.")
    table += 0.0  # turns -0.0 into 0.0, so that equal numbers have equal text
    table.setflags(write=False)
    return table
