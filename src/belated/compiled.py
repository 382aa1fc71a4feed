"""The ways this package compiles a function: typed for mypy, cached on disk, without the GIL.

Hot code is made of kernels: they read and write the arrays they are given and allocate nothing.
The compiler then need not count references, which would cost several times the arithmetic.
"""

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""False when NUMBA_DISABLE_JIT asks for plain Python, to debug or to compare."""

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Division by zero gives inf or nan, as in NumPy."""

NO_ALLOCATION: dict[str, Any] = {"_nrt": False}
"""Compile without numba's runtime for references and memory."""


def compiled(function: F) -> F:
    """Compile a function that may allocate."""
    result: F = njit(**OPTIONS)(function)
    return result


def kernel(function: F) -> F:
    """Compile a function that allocates nothing."""
    result: F = njit(**OPTIONS, **NO_ALLOCATION)(function)
    return result


def inlined(function: F) -> F:
    """Compile a small kernel into its callers: records of many arrays are dear to hand over."""
    result: F = njit(**OPTIONS, **NO_ALLOCATION, forceinline=True)(function)
    return result


def uncached(function: F) -> F:
    """An inlined kernel that leaves no file: its callers are cached with it inside."""
    options = {**OPTIONS, "cache": False}
    result: F = njit(**options, **NO_ALLOCATION, forceinline=True)(function)
    return result


def interpreted(function: F, *callees: Callable[..., Any]) -> F:
    """The Python behind a compiled function, which then calls the Python behind these callees."""
    if not JIT:
        return function
    source: Any = function
    plain: Any = {callee.__name__: cast(Any, callee).py_func for callee in callees}
    copy: Any = FunctionType(
        source.py_func.__code__, {**source.py_func.__globals__, **plain}, source.__name__
    )
    return cast(F, copy)
