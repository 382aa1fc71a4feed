"""Errors in functions of a user: backups and triggers that fail or do not compile.

Functions of a user are compiled for every result, because their two forms may differ in the last
bit. Their first plans are rehearsed as plain Python and discarded: compiled code continues with a
wrong index, and the messages of a compiler are about types, where Python raises its own error.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numba.core.errors import NumbaError

from belated.compiled import JIT
from belated.learner.backup import is_built_in

ADVICE: Final = (
    "A {kind} computes with numbers and creates no arrays or objects. Without @bl.{kind} it runs "
    "as plain Python."
)
"""Advice in the message of a `CompilationError`, if the function of the user cannot be compiled but
would run as Python. The field `kind` is "backup" or "trigger"."""

RECORD: Final = re.compile(r"\b(Stage|Row|Arrival)\((?:[^()]|\([^()]*\))*\)")
"""Pattern of numba's name of the type of a `Stage`, `Row` or `Arrival`: the name of the class and,
in parentheses, the types of all fields."""

LITERAL: Final = re.compile(r"Literal\[(\w+)\]\([^()]*\)")
"""Pattern of numba's name of the type of a constant: "Literal", the type in square brackets and the
value in parentheses."""

HIGHLIGHT: Final = re.compile(r"\x1b\[[0-9;]*m")
"""Pattern of the escape codes by which numba colours its messages if colorama is installed."""


class CompilationError(TypeError):
    """Exception raised because a backup or a trigger fails or does not compile."""


def compilation_error(
    kind: str, function: Callable[..., Any], error: NumbaError
) -> CompilationError:
    """Return the exception to raise because a function of the user does not compile.

    Parameters
    ----------
    kind : str
        Kind of the function, "backup" or "trigger", which is also the name of its decorator.
    function : callable
        The function.
    error : NumbaError
        Error of the compiler.

    Returns
    -------
    CompilationError
        Exception with the cause and, if known, the line of the source. Advice is added unless the
        function would fail as plain Python too.
    """
    text = HIGHLIGHT.sub("", str(error))
    cause, fails_as_python = _describe(text)
    line = _find_line(text, function)
    where = f" ({os.path.basename(function.__code__.co_filename)}, line {line})" if line else ""
    advice = "" if fails_as_python else f" {ADVICE.format(kind=kind)}"
    return CompilationError(
        f"The {kind} {function.__name__} does not compile: {cause}{where}.{advice}"
    )


def _describe(text: str) -> tuple[str, bool]:
    """Return the cause in numba's message `text`, and whether plain Python would fail as well."""
    lines = [line.strip() for line in text.splitlines()]
    # the first line that is not about the compiler itself
    cause = next((line for line in lines if line and not line.startswith("Failed in")), "unknown")
    if cause.startswith("Cannot bind"):
        callee = re.search(r"<function (?:[\w.<>]*\.)?(\w+) at ", text)
        name = f"{callee[1]}()" if callee else "a function"
        missing = re.search(r"missing a required argument: '(\w+)'", cause)
        reason = re.search(r'due to "TypeError: (.*)"', cause)
        if missing:
            return f"{name} needs the argument {missing[1]}", True
        return f"{name} has {reason[1] if reason else 'other parameters'}", True
    call = re.search(r"^ *>>> (.*)$", text, re.MULTILINE)
    if cause.startswith("No implementation of function") and call:
        cause = f"No implementation of {call[1]}"
    cause = re.sub(r", defined at .*|: %.*", "", cause)  # places in the compiler's own code
    cause = LITERAL.sub(r"\1", RECORD.sub(r"\1", cause)).rstrip(":.")
    return cause, cause.startswith(("Unknown attribute", "NameError"))


def _find_line(text: str, function: Callable[..., Any]) -> int | None:
    """Return the number of the line of `function` that does not compile, or None if unknown.

    Numba's message `text` names lines from the innermost call to the outermost one. Lines after the
    first mention of the function are ignored, because they belong to the loop that calls it.
    """
    inside, mentioned, _ = text.partition(f"<function {function.__qualname__} at ")
    if not mentioned:
        return None
    source = os.path.basename(function.__code__.co_filename)
    for file, line in re.findall(r'File "(.*)", line (\d+)', inside):
        if os.path.basename(file) == source:
            return int(line)
    return None


REHEARSED_PLANS: Final = 3
"""Number of plans that are rehearsed for each function."""

_rehearsed: Counter[Callable[..., Any]] = Counter()


def unrehearsed(functions: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return those functions of a user that still need a rehearsal.

    `functions` maps "backup" or "trigger" to a `Backup` or a `Trigger`.
    """
    own = {kind: each for kind, each in functions.items() if JIT and each.compiled}
    return {
        kind: each.function
        for kind, each in own.items()
        if not is_built_in(each) and _rehearsed[each.function] < REHEARSED_PLANS
    }


@contextmanager
def rehearse(functions: Mapping[str, Callable[..., Any]], plans: int) -> Iterator[None]:
    """Return a context manager in whose body `plans` plans are rehearsed as plain Python.

    An ArithmeticError or a ValueError is ignored, because compiled code continues with inf or nan.
    Any other error in one of the `functions` becomes a CompilationError that names the line.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, ValueError):  # such as 1 / 0 and math.log(0)
        pass
    except Exception as error:
        trace = error.__traceback__
        while trace is not None:
            for kind, function in functions.items():
                if trace.tb_frame.f_code is function.__code__:
                    file = Path(function.__code__.co_filename).name
                    raise CompilationError(
                        f"The {kind} {function.__name__} fails: {type(error).__name__}: {error} "
                        f"({file}, line {trace.tb_lineno})."
                    ) from error
            trace = trace.tb_next
        raise
    _rehearsed.update(dict.fromkeys(functions.values(), plans))
