"""Checks of arguments, with error messages that name the argument, the limit and the value."""

from numbers import Integral, Real


def check_integer(name: str, value: object, minimum: int) -> int:
    """Return `value`, the argument called `name`, as an int of at least `minimum`.

    Raises TypeError if it is not an integer and ValueError if it is too small.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}.")
    return int(value)


def check_id(name: str, value: object) -> int:
    """Return `value`, the argument called `name`, as the id of an episode: 0 .. 2**63 - 1."""
    id = check_integer(name, value, 0)
    if id >= 2**63:
        raise ValueError(f"{name} must be below 2**63, got {id}.")
    return id


def check_number(name: str, value: object) -> None:
    """Raise TypeError if `value`, the argument called `name`, is not a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise ValueError if `value`, the argument called `name`, is not one of `allowed`."""
    if value not in allowed:
        listed = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
