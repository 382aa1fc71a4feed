"""Decorators that compile functions with numba, and compilation of callbacks."""

import os
from functools import cached_property
from types import FunctionType
from typing import Any, cast

import numba.core.ccallback
import numba.core.registry
from numba import njit

from belated.compiled.cache import enable_cache
from belated.compiled.linking import LinkedCompiler, LinkedDispatcher, set_environments
from belated.compiled.plain import JIT, F

# numba is typed in part; these parts are not, or not as they are used here
CFunc: Any = numba.core.ccallback.CFunc
CPUDispatcher: Any = numba.core.registry.CPUDispatcher

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Options of numba: release the GIL, return inf or nan on division by zero, and compile no wrapper
that C code could call, which would take time."""

NO_ALLOCATION: dict[str, Any] = {"_nrt": False}
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


def uncached(function: F, *, inline: bool = True) -> F:
    """Return `function` as a kernel without a cache file of its own.

    No file is needed, because the cached code of the callers contains the kernel. If `inline`, it
    is inlined into them.
    """
    return _jit(function, **NO_ALLOCATION, forceinline=inline, cached=False)


def _jit(function: F, *, cached: bool = True, **options: Any) -> F:
    result: Any = njit(**OPTIONS, **options)(function)
    if JIT:
        result.__class__ = KernelDispatcher
        result.cached = cached
        if cached:
            enable_cache(result)
    return cast(F, result)


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """Compiled function with separate code for calls from Python and from compiled functions.

    Compiled functions contain the code of the functions that they call, so that these need neither
    machine code of their own nor the wrapper that Python calls. Both take longer to compile than
    the rest, and are compiled only if Python calls the function.
    """

    cached = False  # whether compiled code is cached on disk

    @cached_property
    def linked(self) -> Any:
        """The same function, compiled for calls from compiled functions."""
        result = LinkedDispatcher(
            self.py_func,
            targetoptions={**self.targetoptions, "no_cpython_wrapper": True},
            pipeline_class=LinkedCompiler,
        )
        if self.cached:
            enable_cache(result)
        return result

    def add_overload(self, cres: Any) -> None:
        """Add the compilation result `cres` of one signature."""
        super().add_overload(cres)
        set_environments(cres.library)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the types of a call with `args` and `kws` by a function that is compiled."""
        return self.linked.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the key of the code that a function calls with the types `sig`."""
        return self.linked.get_overload(sig)


def compile_callback(function: FunctionType, signature: Any) -> Any:
    """Return `function` compiled as a C callback with the given numba `signature`.

    The function must not allocate memory. The compiled code is cached on disk if the function has a
    source file.
    """
    args, return_type = signature.args, signature.return_type
    callback = CFunc(function, (args, return_type), {}, {"error_model": "numpy", **NO_ALLOCATION})
    if os.path.isfile(function.__code__.co_filename):
        enable_cache(callback)
    callback.compile()
    set_environments(callback._library)
    return callback
