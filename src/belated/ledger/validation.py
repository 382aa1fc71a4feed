"""Validation of single values: texts, names, ids, sequence numbers and times.

The first parameter of each `check_` function is the name of the value in error messages.
"""

import re
from typing import Final

from belated.arguments import check_integer

MAX_TEXT_CHARS: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a printable text of 1 to 200 characters; `name` is for errors."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}.")
    if not 1 <= len(value) <= MAX_TEXT_CHARS:
        raise ValueError(f"{name} must have 1 .. {MAX_TEXT_CHARS} characters, got {len(value)}.")
    if not value.isprintable():
        raise ValueError(f"{name} must consist of printable characters, got {value!r}.")
    return value


def check_name(name: str, value: object) -> str:
    """Return `value` if it is a valid problem or token name; `name` is for errors."""
    if not is_name(check_text(name, value)):
        raise ValueError(
            f"{name} must be 1 .. 100 of the letters a-z and A-Z, digits, '.', '_' and '-', "
            f"and begin with a letter or digit, got {value!r}."
        )
    return str(value)


def is_id(value: object) -> bool:
    """Return whether `value` has the format of an episode id: 22 to 64 URL-safe characters."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_name(value: object) -> bool:
    """Return whether `value` has the format of a problem or token name."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def check_episode_id(name: str, value: object) -> str:
    """Return `value` if it has the format of an episode id; `name` is for errors."""
    if not is_id(value):
        raise ValueError(
            f"{name} must be 22 .. 64 of the letters a-z and A-Z, digits, '_' and '-', "
            f"such as secrets.token_urlsafe(16), got {value!r}."
        )
    return str(value)


def check_seq(name: str, value: object, least: int = 1) -> int:
    """Return `value` if it is an integer of at least `least` that fits a BIGINT.

    `name` is for errors.
    """
    number = check_integer(name, value, least)
    if number >= 2**63:
        raise ValueError(f"{name} must be below 2**63, got {number}.")
    return number


def check_time(name: str, value: object) -> int | None:
    """Return `value` if it is None or an integer number of microseconds since 1970 (UTC).

    `name` is for errors.
    """
    return None if value is None else check_seq(name, value, -(2**62))
