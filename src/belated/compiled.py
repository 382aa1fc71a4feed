"""The ways this package compiles a function: typed for mypy, cached on disk, without the GIL.

Hot code is made of kernels: they read and write the arrays they are given and allocate nothing.
The compiler then need not count references, which would cost several times the arithmetic.
"""

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numba.core.cgutils
from numba import njit
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

# numba is typed in part; these parts are not, or not as they are used here
cgutils: Any = numba.core.cgutils
types: Any = numba.types

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


def identity(array: Any, shape: Any = None) -> Any:
    """What `address` and `view` are in Python."""
    return array


def _address(context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


def _view(context: Any, address: Any, size: Any) -> Any:
    array_type = types.Array(address.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = make_array(array_type)(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
        itemsize = context.get_constant(types.intp, item)
        populate_array(
            array,
            data=arguments[0],
            shape=cgutils.pack_array(builder, [arguments[1]]),
            strides=cgutils.pack_array(builder, [itemsize]),
            itemsize=itemsize,
            meminfo=None,
        )
        return array._getvalue()

    return array_type(address, types.int64), generate


address: Any = intrinsic(_address) if JIT else identity
"""address(array): where an array's data begins, one word to hand over instead of seven."""

view: Any = intrinsic(_view) if JIT else identity
"""view(address, size): the array of so many numbers that begins there."""


def interpreted(function: F, *callees: Callable[..., Any]) -> F:
    """The Python behind a compiled function, which then calls the Python behind these callees."""
    if not JIT:
        return function
    plain: dict[str, Any] = {"address": identity}
    copy: Any = function
    for compiled_one in (*callees, function):
        source: Any = compiled_one
        names = {**source.py_func.__globals__, **plain}
        copy = FunctionType(source.py_func.__code__, names, source.__name__)
        plain[source.__name__] = copy
    return cast(F, copy)
