"""The one way this package compiles a function: typed for mypy, cached on disk, free of the GIL."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""False when NUMBA_DISABLE_JIT asks for plain Python, to debug or to compare."""


def compiled(function: F) -> F:
    """Compile `function` on first use; division by zero gives inf or nan, as in NumPy."""
    result: F = njit(cache=True, nogil=True, error_model="numpy")(function)
    return result


def interpreted(function: F) -> F:
    """The Python function behind a compiled one."""
    result: F = getattr(function, "py_func", function)
    return result
