"""Decorators that compile functions with numba, and compilation of callbacks."""

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import numba.core.ccallback
from numba import njit

from belated.compiled.bind import is_cacheable
from belated.compiled.cache import enable_cache

F = TypeVar("F", bound=Callable[..., Any])

CFunc: Any = numba.core.ccallback.CFunc  # numba is typed in part; this part is not

JIT: Final = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether functions are compiled; NUMBA_DISABLE_JIT=1 runs them as plain Python instead."""

OPTIONS: Final[dict[str, Any]] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
"""Options of numba: release the GIL, return inf or nan on division by zero, and compile no wrapper
that C code could call, which would take time."""

NO_ALLOCATION: Final[dict[str, Any]] = {"_nrt": False}
"""Option of numba: compile without the runtime that allocates memory and counts references."""


def compiled(function: F) -> F:
    """Return `function` as a compiled function, which may allocate memory."""
    return _jit(function)


def kernel(function: F) -> F:
    """Return `function` as a kernel: a compiled function that must not allocate memory."""
    return _jit(function, **NO_ALLOCATION)


def inlined(function: F) -> F:
    """Return `function` as a kernel that is inlined into its callers.

    This is meant for small kernels, and for kernels that take tuples of many arrays, because such
    tuples are expensive to pass.
    """
    return _jit(function, **NO_ALLOCATION, forceinline=True)


def _jit(function: F, **options: Any) -> F:
    if hasattr(function, "py_func"):  # compiled already
        return function
    result: Any = njit(**OPTIONS, **options)(function)
    if JIT and is_cacheable(function):
        enable_cache(result, function)
    return cast(F, result)


def compile_callback(function: FunctionType, signature: Any) -> Any:
    """Return `function` compiled as a C callback with the given numba `signature`.

    The function must not allocate memory.
    """
    options = {"error_model": "numpy", **NO_ALLOCATION}
    callback = CFunc(function, (signature.args, signature.return_type), {}, options)
    if is_cacheable(function):
        enable_cache(callback, function)
    callback.compile()
    return callback
