"""Options of a part that is a dataclass, and whether it refuses nonsense."""

import math
from dataclasses import Field, fields, is_dataclass, replace
from typing import Any

from belated.checks.suite import called, hold

UNKNOWN = "no such word"


def nonsense(part: object) -> list[tuple[str, object]]:
    """An impossible value for every option that can have one: nan for a number, a wrong word."""
    if not is_dataclass(part):
        return []
    found: list[tuple[str, object]] = []
    for field in fields(part):
        value = getattr(part, field.name)
        if not field.init:
            continue
        if _words(field):
            found.append((field.name, UNKNOWN))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append((field.name, math.nan))
    return found


def _words(field: Field[Any]) -> bool:
    return "Literal" in str(field.type)


def refuses(part: Any, name: str, value: object) -> None:
    """Hold that a part made with this value is refused, with one sentence that names the option."""
    try:
        replace(part, **{name: value})
    except (ValueError, TypeError) as error:
        clear(str(error), f"{called(part)}({name}={value!r})", name)
    else:
        raise AssertionError(
            f"{called(part)} takes {name}={value!r}; it must refuse that with a ValueError."
        )


def clear(message: str, what: str, name: str) -> None:
    """Hold that an error message is one sentence that names the argument."""
    hold(
        name in message and message.endswith(".") and "\n" not in message,
        f"{what} is refused with {message!r}; the message must be one sentence that names {name}.",
    )
