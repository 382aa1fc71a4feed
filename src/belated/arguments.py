"""Checks of arguments. Error messages state the argument, the requirement and the value."""

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from operator import index
from typing import Any, Final

SCALE_REWARDS: Final = "map rewards to [0, 1] with bl.scaled_rewards(low, high)"
"""Advice in the error messages for rewards outside [0, 1]."""


def check_integer(name: str, value: Any, minimum: int) -> int:
    """Return `value` as an int; it must be an integer of at least `minimum`.

    Raises TypeError if `value` is not an integer, and ValueError if it is less than `minimum`.
    `name` is the name of the argument in the error message.
    """
    if type(value) is int:  # fast path of most calls
        number = value
    else:
        try:
            number = index("" if isinstance(value, bool) else value)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{name} must be an integer, got {value!r}.") from None
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {number}.")
    return number


def check_id(name: str, value: object) -> int:
    """Return `value` as an int; it must be a valid episode id, in 0 .. 2**63 - 1.

    Raises TypeError if `value` is not an integer, and ValueError if it is out of range. `name` is
    the name of the argument in the error message.
    """
    id = check_integer(name, value, 0)
    if id >= 2**63:
        raise ValueError(f"{name} must be below 2**63, got {id}.")
    return id


def check_number(name: str, value: object) -> None:
    """Raise TypeError if `value` is not a real number; booleans are rejected too.

    `name` is the name of the argument in the error message.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise ValueError if `value` is not one of the strings in `allowed`.

    `name` is the name of the argument in the error message.
    """
    if value not in allowed:
        listed = ", ".join(repr(word) for word in allowed)
        near = did_you_mean(similar(value, allowed)) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.{near}")


def similar(text: str, names: Iterable[str]) -> list[str]:
    """Return at most three of `names` that resemble `text`, the most similar first.

    >>> similar("UCRL", ["ubev", "ucrl2", "ucrl2b", "psrl"])
    ['ucrl2', 'ucrl2b']
    """
    by_key = {name.lower().replace("_", "-"): name for name in names}
    return [by_key[key] for key in get_close_matches(text.lower().replace("_", "-"), by_key)]


def did_you_mean(names: Iterable[str]) -> str:
    """Return the end of an error message that suggests `names`; "" if there are none.

    >>> did_you_mean(["ucrl2", "ucrl2b"]), did_you_mean([])
    (" Did you mean 'ucrl2' or 'ucrl2b'?", '')
    """
    listed = " or ".join(repr(name) for name in names)
    return f" Did you mean {listed}?" if listed else ""
