"""Checks of single values, each with a sentence."""

import re
from typing import Final

from belated.episode import check_integer

LONGEST: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_text(name: str, value: object) -> str:
    """`value` as a text that any database can hold."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}.")
    if not 1 <= len(value) <= LONGEST:
        raise ValueError(f"{name} has {len(value)} characters; allowed are 1 .. {LONGEST}.")
    if not value.isprintable():
        raise ValueError(f"{name} is {value!r}; it must consist of printable characters.")
    return value


def check_name(name: str, value: object) -> str:
    """`value` as a name that can stand in an address."""
    if not is_name(check_text(name, value)):
        raise ValueError(
            f"{name} is {value!r}; it must be 1 .. 100 of the letters a-z and A-Z, digits, "
            "'.', '_' and '-', and begin with a letter or digit."
        )
    return str(value)


def is_id(value: object) -> bool:
    """Whether this could be the id of an episode: 128 bits, fit for an address."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_name(value: object) -> bool:
    """Whether this could be the name of a problem or a token."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def check_episode_id(name: str, value: object) -> str:
    """`value` as the id of an episode to be opened."""
    if not is_id(value):
        raise ValueError(
            f"{name} is {value!r}; it must be 22 .. 64 of the letters a-z and A-Z, digits, "
            "'_' and '-', such as secrets.token_urlsafe(16)."
        )
    return str(value)


def check_seq(name: str, value: object, least: int = 1) -> int:
    """`value` as a number that a BIGINT can hold."""
    number = check_integer(name, value, least)
    if number >= 2**63:
        raise ValueError(f"{name} is {number}; it must be below 2**63.")
    return number


def check_time(name: str, value: object) -> int | None:
    """`value` as microseconds since 1970, UTC, or None."""
    return None if value is None else check_seq(name, value, -(2**62))
