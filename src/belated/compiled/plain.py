"""Kernels as plain Python, without compilation."""

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether functions are compiled; NUMBA_DISABLE_JIT=1 runs them as plain Python instead."""


def identity(array: Any, shape: Any = None) -> Any:
    """Return `array`; `shape` is ignored.

    This function is used as `address`, `view`, `reference` and `dereference` when functions run as
    plain Python.
    """
    return array


def interpreted(function: F, *callees: Callable[..., Any]) -> F:
    """Return a plain Python version of the compiled `function`.

    The result calls plain Python versions of the compiled functions `callees`, instead of the
    compiled ones. `callees` must be ordered so that a callee comes before the functions that call
    it.
    """
    if not JIT:
        return function
    plain: dict[str, Any] = {"address": identity, "reference": identity}
    copy: Any = function
    dispatchers: tuple[Any, ...] = (*callees, function)
    for dispatcher in dispatchers:
        names = {**dispatcher.py_func.__globals__, **plain}
        copy = FunctionType(dispatcher.py_func.__code__, names, dispatcher.__name__)
        plain[dispatcher.__name__] = copy
    return cast(F, copy)
