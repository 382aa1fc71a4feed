"""Functions with other globals: templates bound to functions, and kernels as plain Python."""

import types
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

PLAIN_FORMS: dict[Any, Callable[..., Any]] = {}
"""Map from each of the few functions that only exist compiled to its form in plain Python."""


class DigestError(TypeError):
    """Exception raised for a value whose digest cannot be computed."""


def bind(template: Callable[..., Any], **names: Any) -> FunctionType:
    """Return a copy of a function in which some globals are replaced.

    A user's function must be compiled into the loop that calls it: a call by pointer would cost
    more than most backups. The loop is therefore a template that calls a global, and each user's
    function is bound to a copy. Numba's cache knows nothing of globals, so that the name of the
    copy contains the digest of every bound object.

    Parameters
    ----------
    template : callable
        Function to copy.
    **names
        Globals of the copy that replace those of the template.

    Returns
    -------
    function
        The copy. Its code is cached only if everything bound to it has a digest.
    """
    try:
        suffix = digest_of(names)[:16]
    except DigestError:
        suffix = UNCACHED
    copy = copy_function(template, {**template.__globals__, **names})
    copy.__name__ = copy.__qualname__ = f"{template.__name__}_{suffix}"
    return copy


UNCACHED = "uncached"
"""End of the name of a function whose code must not be cached, because it has no digest."""


LIBRARIES = ("belated", "math", "numba", "numpy")
"""Packages whose functions are represented in a digest by their names alone."""


def is_cacheable(function: Callable[..., Any]) -> bool:
    """Return whether compiled code of `function` may be cached on disk, where it has only its name.

    The functions of this package have one digest for all sources, so that their names suffice. A
    closure, or a function of a user, may only be cached as a part of a function made by `bind`.
    """
    return (
        function.__module__.startswith("belated.")
        and "<locals>" not in function.__qualname__
        and not function.__name__.endswith(UNCACHED)
    )


def copy_function(
    function: Any, names: dict[str, Any], cells: tuple[CellType, ...] | None = None
) -> FunctionType:
    """Return a copy of a Python function with the globals `names`, and other `cells` if given."""
    closure = function.__closure__ if cells is None else cells
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


def interpret(function: F) -> F:
    """Return the compiled `function` as plain Python, with all kernels that it calls.

    The few functions that only exist compiled are replaced by their plain forms.
    """
    return cast(F, translate(function, PLAIN_FORMS, {}))


def translate(
    function: Any,
    forms: Mapping[Any, Any],
    known: dict[Any, Any],
    finish: Callable[[FunctionType], Any] = lambda copy: copy,
) -> Any:
    """Return a copy of a function in which all kernels that it calls are copies, too.

    Parameters
    ----------
    function : callable
        Compiled function, or a Python function.
    forms : mapping
        Map from some functions to what replaces them, in place of a copy.
    known : dict
        Map from the Python form of each function to its copy, to which missing ones are added.
    finish : callable
        Function applied to each copy, such as a compiler that compiles it when it is first called.

    Returns
    -------
    callable
        The finished copy.
    """
    if function in forms:
        return forms[function]
    source = getattr(function, "py_func", function)
    if source not in known:

        def replace(value: Any) -> Any:
            is_kernel = hasattr(value, "py_func") or any(value is form for form in forms)
            is_kernel = is_kernel and callable(value)
            return translate(value, forms, known, finish) if is_kernel else value

        cells = tuple(CellType(replace(cell.cell_contents)) for cell in source.__closure__ or ())
        copy = copy_function(source, {}, cells)
        known[source] = finish(copy)
        names = set(_names_of(source.__code__)) & source.__globals__.keys()
        copy.__globals__.update({name: replace(source.__globals__[name]) for name in names})
    return known[source]


def digest_of(value: Any) -> str:
    """Return a digest of a value that a compiled function contains.

    The digest of a function covers its code, its constants and defaults, and the values of its
    closure and of the globals that it names, recursively. Modules are covered by the attributes
    that are read from them.

    Raises
    ------
    DigestError
        If the value is anything but a number, a string, an array, a function or a container of
        these.
    """
    return sha256("\n".join(_facts(value, set())).encode()).hexdigest()


def _facts(value: Any, seen: set[int]) -> list[str]:
    """Return lines of text that determine `value`; functions in `seen` are not repeated."""
    value = getattr(value, "py_func", value)
    if value is None or isinstance(value, str | bytes | int | float | complex | np.generic):
        return [f"{type(value).__name__} {value!r}"]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [f"array {value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"]
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: repr(item[0]))
        return [fact for item in items for part in item for fact in _facts(part, seen)]
    if isinstance(value, tuple | list):
        return [type(value).__qualname__, *(fact for part in value for fact in _facts(part, seen))]
    if isinstance(value, CodeType):
        parts = (value.co_code, value.co_names, value.co_varnames, value.co_exceptiontable)
        return [repr(parts), *_facts(value.co_consts, seen)]
    if isinstance(value, type):
        members = [(name, each.value) for name, each in getattr(value, "__members__", {}).items()]
        return [f"class {value.__module__}.{value.__qualname__}", *_facts(members, seen)]
    if isinstance(value, ModuleType):
        return [f"module {value.__name__} {getattr(value, '__version__', '')}"]
    if isinstance(value, types.BuiltinFunctionType | np.ufunc):
        return [f"{type(value).__name__} {getattr(value, '__module__', '')}.{value.__name__}"]
    if _is_of_library(value):
        return [f"{value.__module__}.{value.__qualname__}"]
    if isinstance(value, FunctionType) and not value.__name__.endswith(UNCACHED):
        return [] if id(value) in seen else _function_facts(value, seen | {id(value)})
    raise DigestError(f"{value!r} has no digest.")


def _is_of_library(function: Any) -> bool:
    """Return whether the code of `function` does not change while its qualified name stays."""
    name = getattr(function, "__qualname__", "<locals>")
    package = str(getattr(function, "__module__", "")).partition(".")[0]
    return package in LIBRARIES and "<locals>" not in name and not name.endswith(UNCACHED)


def _function_facts(function: FunctionType, seen: set[int]) -> list[str]:
    code, cells = function.__code__, function.__closure__ or ()
    names = _names_of(code)
    scope = {name: function.__globals__[name] for name in names if name in function.__globals__}
    scope |= {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
    defaults = function.__defaults__, function.__kwdefaults__
    return _facts(code, seen) + _facts(defaults, seen) + _scope_facts(scope, names, seen)


def _scope_facts(scope: Mapping[str, Any], names: list[str], seen: set[int]) -> list[str]:
    """Return lines for the values in `scope`, and for the attributes `names` of its modules."""
    lines = []
    for name, value in sorted(scope.items()):
        lines += [name, *_facts(value, seen)]
        if not isinstance(value, ModuleType) or id(value) in seen:
            continue
        if value.__name__.partition(".")[0] not in LIBRARIES:
            inner = {each: getattr(value, each) for each in names if hasattr(value, each)}
            lines += _scope_facts(inner, names, seen | {id(value)})
    return lines


def _names_of(code: CodeType) -> list[str]:
    """Return the names of globals and attributes in `code` and in the functions inside it."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return sorted({*code.co_names, *(name for each in inner for name in _names_of(each))})
