"""Rehearsals: the first plans with functions of a user, run as plain Python and discarded.

Compiled code continues with a wrong index, and the messages of a compiler are about types. Plain
Python raises its own error, with the line. Results are never taken from a rehearsal, because the
last bit of a user's function may differ between its two forms.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from belated.compiled import JIT
from belated.learner.compile_errors import CompilationError

PLANS: Final = 3
"""Number of plans that are rehearsed for each function."""

_rehearsed: Counter[Callable[..., Any]] = Counter()


def unrehearsed(functions: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return those functions of a user that still need a rehearsal.

    `functions` maps "backup" or "trigger" to a `Backup` or a `Trigger`.
    """
    found = {kind: each.function for kind, each in functions.items() if JIT and each.compiled}
    return {
        kind: function
        for kind, function in found.items()
        if not function.__module__.startswith("belated.") and _rehearsed[function] < PLANS
    }


@contextmanager
def rehearse(functions: Mapping[str, Callable[..., Any]], plans: int) -> Iterator[None]:
    """Return a context manager in whose body `plans` plans are rehearsed as plain Python.

    An ArithmeticError is ignored, because compiled code continues with inf or nan. Any other error
    in one of the `functions` becomes a CompilationError that names the line.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except ArithmeticError:
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
