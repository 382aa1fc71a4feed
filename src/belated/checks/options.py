"""Checks that invalid options and arguments raise an error with a clear message."""

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from belated.checks.suite import part_name, require


def invalid_options(part: object) -> list[tuple[str, object]]:
    """Return (option, invalid value) pairs for the base or updater `part`.

    The invalid value is NaN for a numeric option and an unlisted string for a Literal option. The
    list is empty if `part` has no such options or is not a dataclass.
    """
    if not is_dataclass(part):
        return []
    invalid: list[tuple[str, object]] = []
    for field in fields(part):
        value = getattr(part, field.name)
        if field.init and "Literal" in str(field.type):
            invalid.append((field.name, "unknown literal"))
        elif field.init and isinstance(value, int | float) and not isinstance(value, bool):
            invalid.append((field.name, math.nan))
    return invalid


def rejects_invalid_options(part: Any, *_: object) -> None:
    """Check that `part`, a base or updater, rejects invalid options with a clear message.

    The invalid values are NaN for a number and an unlisted string for a Literal. The message must
    contain the name of the option. Further arguments are ignored.
    """
    for name, value in invalid_options(part):
        require_rejection(part_name(part), name, value, partial(replace, part, **{name: value}))


def require_rejection(who: str, name: str, value: object, call: Callable[[], object]) -> None:
    """Raise AssertionError unless `call()` raises ValueError or TypeError with a clear message.

    The message must be one line that contains `name` and ends with a period, or with a question
    such as "Did you mean ...?".

    Parameters
    ----------
    who : str
        Name of the checked object in the AssertionError.
    name : str
        Name of the invalid argument.
    value : object
        Value of the invalid argument.
    call : callable
        Function without arguments that passes the invalid value to the checked object.
    """
    try:
        call()
    except (ValueError, TypeError) as error:
        message = str(error)
        require(
            name in message and message.endswith((".", "?")) and "\n" not in message,
            f"{who} rejects {name}={value!r} with {message!r}; the message must be one line that "
            f"names {name} and ends with a period.",
        )
    else:
        raise AssertionError(f"{who} accepts {name}={value!r}; it must raise a ValueError.")
