"""Checks of values: arguments, texts, names, ids, times, and arrays.

An error message states the value, the requirement and what was given. The first parameter of a
check, `name`, is the name of the value in the message.

Compiled code does not check indices. Arrays from files, databases and users are therefore checked
first: types, shapes, and the range of every number that is used as an index.
"""

import re
import reprlib
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

if TYPE_CHECKING:  # commands that need no numbers start without NumPy
    import numpy as np
    from numpy.typing import NDArray

SCALE_REWARDS: Final = "map rewards to [0, 1] with bl.scaled_rewards(low, high)"
"""Advice in the error messages for rewards outside [0, 1]."""
MAX_TEXT_CHARS: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


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


def check_index(name: str, value: Any, size: int) -> int:
    """Return `value` as an int; it must be an integer in 0 .. `size` - 1.

    Raises TypeError if `value` is not an integer, and ValueError if it is out of range. `name` is
    the name of the argument in the error message.
    """
    number = check_integer(name, value, -(2**63))
    if not 0 <= number < size:
        raise ValueError(f"{name} must lie in 0 .. {size - 1}, got {number}.")
    return number


def check_id(name: str, value: object) -> int:
    """Return `value` as an int; it must be a valid episode id, in 0 .. 2**63 - 1.

    Raises TypeError if `value` is not an integer, and ValueError if it is out of range. `name` is
    the name of the argument in the error message.
    """
    return check_seq(name, value, 0)


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


def check_choices(options: Any) -> None:
    """Check the fields of the dataclass `options` whose type is a `Literal`; see `check_choice`."""
    for option in fields(options):
        if get_origin(option.type) is Literal:
            check_choice(option.name, getattr(options, option.name), get_args(option.type))


def check_factor(name: str, value: object) -> None:
    """Raise TypeError or ValueError if `value` is not a finite number of at least 0.

    `name` is the name of the argument in the error message.
    """
    check_number(name, value)
    if not 0 <= value < float("inf"):  # type: ignore[operator]
        raise ValueError(f"{name} must be finite and at least 0, got {value}.")


def check_probability(name: str, value: object) -> None:
    """Raise TypeError or ValueError if `value` does not lie strictly between 0 and 1.

    `name` is the name of the argument in the error message.
    """
    check_number(name, value)
    if not 0 < value < 1:  # type: ignore[operator]
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}.")


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


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a text of 1 to 200 printable characters.

    Otherwise raises TypeError or ValueError; the message refers to the value as `name`.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}.")
    if not 1 <= len(value) <= MAX_TEXT_CHARS:
        raise ValueError(f"{name} must have 1 .. {MAX_TEXT_CHARS} characters, got {len(value)}.")
    if not value.isprintable():
        raise ValueError(f"{name} must consist of printable characters, got {value!r}.")
    return value


def check_name(name: str, value: object) -> str:
    """Return `value` if it has the format of a problem or token name, as checked by `is_name`.

    Otherwise raises TypeError or ValueError; the message refers to the value as `name`.
    """
    if not is_name(check_text(name, value)):
        raise ValueError(
            f"{name} must be 1 .. 100 of the letters a-z and A-Z, digits, '.', '_' and '-', "
            f"and begin with a letter or digit, got {value!r}."
        )
    return str(value)


def is_id(value: object) -> bool:
    """Return whether `value` has the format of an episode id.

    An episode id consists of 22 to 64 letters, digits, '_' and '-'.
    """
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_name(value: object) -> bool:
    """Return whether `value` has the format of a problem or token name.

    A name consists of 1 to 100 letters, digits, '.', '_' and '-'. It begins with a letter or digit.
    """
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def check_episode_id(name: str, value: object) -> str:
    """Return `value` if it has the format of an episode id, as checked by `is_id`.

    Otherwise raises ValueError; the message refers to the value as `name`.
    """
    if not is_id(value):
        raise ValueError(
            f"{name} must be 22 to 64 characters of A-Z, a-z, 0-9, '_' and '-', "
            f"got {reprlib.repr(value)}; use secrets.token_urlsafe(16)."
        )
    return str(value)


def check_seq(name: str, value: object, least: int = 1) -> int:
    """Return `value` if it is an integer from `least` to 2**63 - 1, the maximum of SQL's BIGINT.

    Otherwise raises TypeError or ValueError; the message refers to the value as `name`.
    """
    number = check_integer(name, value, least)
    if number >= 2**63:
        raise ValueError(f"{name} must be below 2**63, got {number}.")
    return number


def check_time(name: str, value: object) -> int | None:
    """Return `value` if it is None, or a time as an integer in microseconds since 1970 (UTC).

    Otherwise raises TypeError or ValueError; the message refers to the value as `name`.
    """
    return None if value is None else check_seq(name, value, -(2**62))


def check_like(name: str, like: "NDArray[Any]", array: Any, *, growing: bool) -> "NDArray[Any]":
    """Return a saved array after a check of its type and shape.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    like : NDArray
        Array with the expected type and shape.
    array : NDArray or None
        The saved array; None if it is missing.
    growing : bool
        Whether the array may be longer than `like` along its first axis.

    Returns
    -------
    NDArray
        A copy of the saved array, contiguous and writable.

    Raises
    ------
    ValueError
        If the array is missing, or has another type or shape.
    """
    if array is None:
        raise ValueError(f"{name} is missing")
    longer = growing and array.shape[1:] == like.shape[1:] and len(array) >= len(like)
    if array.dtype != like.dtype or not (longer or array.shape == like.shape):
        raise ValueError(f"{name} must be {like.dtype} of shape {like.shape}")
    return array.copy(order="C")


def check_range(name: str, array: Any, low: float, high: float) -> None:
    """Raise ValueError unless all entries of an array lie in a range.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    array : array_like
        Numbers to check; NaN lies in no range.
    low, high : float
        Smallest and largest allowed number.
    """
    import numpy as np

    values = np.asarray(array)
    if values.size and not (values.min() >= low and values.max() <= high):
        raise ValueError(f"{name} must lie in {low} .. {high}")


def check_indices(name: str, array: "NDArray[Any]", size: int) -> None:
    """Raise ValueError unless an array has one dimension and contains only valid indices.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    array : NDArray
        Integers to check.
    size : int
        Number of valid indices, which are 0 .. `size` - 1.
    """
    if array.ndim != 1 or array.dtype.kind != "i":
        raise ValueError(
            f"{name} must be integers in one dimension, got {array.dtype} of shape {array.shape}."
        )
    numbers = array.astype("int64", copy=False)
    # one comparison instead of two, since a negative number is a large unsigned one
    if numbers.size and numbers.view("uint64").max() >= size:
        raise ValueError(f"{name} must lie in 0 .. {size - 1}")


def check_numbers(name: str, values: Any) -> "NDArray[np.float64]":
    """Return `values` as a new array of floats, or raise TypeError with `name` in the message."""
    import numpy as np

    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be a rectangular array of numbers, got {reprlib.repr(values)}."
        ) from None


def check_finite(name: str, array: "NDArray[Any]") -> None:
    """Raise ValueError, with `name` in the message, unless all entries of `array` are finite."""
    import numpy as np

    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")


def check_same_size(*arrays: "NDArray[Any]") -> None:
    """Raise ValueError unless all `arrays` have the same length."""
    if len({len(array) for array in arrays}) > 1:
        raise ValueError("arrays of one record must have the same length")
