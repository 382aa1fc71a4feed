"""Checks of arguments. Error messages state the argument, the requirement and the value."""

from numbers import Real
from operator import index
from typing import Any


def check_integer(name: str, value: Any, minimum: int) -> int:
    """Return `value` as an int; it must be an integer of at least `minimum`.

    Raises TypeError if `value` is not an integer, and ValueError if it is less than `minimum`.
    `name` is the name of the argument in the error message.
    """
    try:
        number = index(None if isinstance(value, bool) else value)
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
    """Raise TypeError if `value` is not a number; `name` is its name in the error message."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise ValueError if `value` is not one of the strings in `allowed`.

    `name` is the name of the argument in the error message.
    """
    if value not in allowed:
        listed = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
