"""Validation of single values: texts, names, ids, sequence numbers, times and ranges of rewards.

The first parameter of each `check_` function is the name of the value in error messages.
"""

import math
import re
from collections.abc import Sequence
from typing import Final

from belated.arguments import check_integer

MAX_TEXT_CHARS: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


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
            f"{name} must be 22 .. 64 of the letters a-z and A-Z, digits, '_' and '-', "
            f"such as secrets.token_urlsafe(16), got {value!r}."
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
    """Return `value` if it is None or an integer, a time in microseconds since 1970 (UTC).

    Otherwise raises TypeError or ValueError; the message refers to the value as `name`.
    """
    return None if value is None else check_seq(name, value, -(2**62))


def check_range(value: object) -> tuple[float, float]:
    """Return `value` as a pair of floats if it is a reward_range, a list [low, high] of numbers.

    Otherwise raises TypeError or ValueError.
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
