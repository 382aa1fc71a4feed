"""Decorators that compile functions with numba, and compilation of callbacks."""

import os
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import numba.core.ccallback
import numba.core.registry
import numpy as np
from numba import njit

from belated.compiled import budget
from belated.compiled.bind import interpret, is_cacheable
from belated.compiled.cache import cache_of, has_code

F = TypeVar("F", bound=Callable[..., Any])

# numba is typed in part; these parts are not
CFunc: Any = numba.core.ccallback.CFunc
CPUDispatcher: Any = numba.core.registry.CPUDispatcher

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
    if not JIT or hasattr(function, "py_func"):  # compiled already
        return function
    result: Any = njit(**OPTIONS, **options)(function)
    result.__class__ = KernelDispatcher
    if is_cacheable(function):
        result._cache = cache_of(function)
    return cast(F, result)


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """Compiled function that runs as plain Python while nothing is compiled; see `budget`."""

    _checked = -1  # result of `budget.checks` when the disk was searched
    _is_on_disk = False

    @property
    def is_ready(self) -> bool:
        """Whether compiled code is in memory or on disk."""
        if self._checked != budget.checks():
            self._checked = budget.checks()
            self._is_on_disk = is_cacheable(self.py_func) and has_code(self.py_func)
        return bool(self.overloads) or self._is_on_disk

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function as plain Python, which continues with inf and nan as compiled code does."""
        return np.errstate(all="ignore")(interpret(self))

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Return a function for a call from Python for whose types nothing is in memory."""
        work = 1 + sum(argument.size for argument in args if isinstance(argument, np.ndarray))
        tuples = [argument for argument in args if isinstance(argument, tuple)]
        takes_pointers = any(isinstance(part, CFunc) for each in tuples for part in each)
        affordable = work <= min(budget.MAX_CALL, budget.remaining())
        if affordable and not takes_pointers and not self.is_ready:
            budget.spend(work)
            return self.plain
        return super()._compile_for_args(*args, **kws)


def is_ready(function: Callable[..., Any]) -> bool:
    """Return whether a kernel needs no compiler: its code is in memory or on disk."""
    return not JIT or cast(KernelDispatcher, function).is_ready


def as_plain(function: F) -> F:
    """Return a kernel as plain Python, which continues with inf and nan as compiled code does."""
    return cast(F, cast(KernelDispatcher, function).plain) if JIT else function


def compile_callback(function: FunctionType, signature: Any) -> Any:
    """Return `function` compiled as a C callback with the given numba `signature`.

    The function must not allocate memory.
    """
    options = {"error_model": "numpy", **NO_ALLOCATION}
    callback = CFunc(function, (signature.args, signature.return_type), {}, options)
    if is_cacheable(function):
        callback._cache = cache_of(function)
    callback.compile()
    return callback
