"""Compilation with numba: decorators for kernels, and a disk cache that tracks callees.

Kernels are compiled functions that allocate no memory: they read and write the arrays they are
given. Without allocation the compiler needs no reference counting, which would cost several times
the arithmetic.

Numba caches compiled code on disk beside the source file. By itself it discards an entry only
when the file of the cached function changes, although callees are compiled into their callers.
Functions compiled here also depend on the modules of this package that their file imports.
"""

import glob
import os
import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba.core.caching
import numba.core.ccallback
import numba.core.cgutils
from numba import njit
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

# numba is typed in part; these parts are not, or not as they are used here
IndexDataCacheFile: Any = numba.core.caching.IndexDataCacheFile
CFunc: Any = numba.core.ccallback.CFunc
cgutils: Any = numba.core.cgutils
types: Any = numba.types

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether functions are compiled; NUMBA_DISABLE_JIT=1 runs them as plain Python instead."""

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Cached on disk, without the GIL, and division by zero gives inf or nan as in NumPy."""

NO_ALLOCATION: dict[str, Any] = {"_nrt": False}
"""Compile without numba's runtime for memory and reference counts."""

NAME = __name__.rpartition(".")[0]  # of this package
PACKAGE = os.path.dirname(__file__)
IMPORT = re.compile(
    rf"^(?:from ({NAME}[\w.]*) import (\([^)]*\)|.*)|import ({NAME}[\w.]*))", re.MULTILINE
)
"""Imports of this package at module level, as (package, names, "") or ("", "", module)."""


def compiled(function: F) -> F:
    """Compile `function`, which may allocate memory, and return it."""
    return _jit(function)


def kernel(function: F) -> F:
    """Compile `function`, which must not allocate memory, and return it."""
    return _jit(function, **NO_ALLOCATION)


def inlined(function: F) -> F:
    """Compile the small kernel `function` into its callers, and return it.

    Records of many arrays are expensive to pass, so kernels that take them are inlined.
    """
    return _jit(function, **NO_ALLOCATION, forceinline=True)


def uncached(function: F) -> F:
    """Compile `function` as `inlined` does, but without a cache file of its own, and return it.

    The cached code of its callers contains it.
    """
    return _jit(function, **NO_ALLOCATION, forceinline=True, cache=False)


def _jit(function: F, **options: Any) -> F:
    result: F = njit(**{**OPTIONS, **options})(function)
    stamp_cache(result)
    return result


def compile_callback(function: FunctionType, signature: Any) -> Any:
    """Return `function` compiled as a C callback with `signature`; it must not allocate memory.

    It is cached on disk if it has a source file.
    """
    args, return_type = signature.args, signature.return_type
    callback = CFunc(function, (args, return_type), {}, {"error_model": "numpy", **NO_ALLOCATION})
    if os.path.isfile(function.__code__.co_filename):
        callback.enable_caching()
        stamp_cache(callback)
    callback.compile()
    return callback


def stamp_cache(function: Any) -> None:
    """Make the disk cache of the compiled `function` depend on all sources it is made from.

    These are its own file, the module of its global names, and the modules of this package that
    these import, see `digest_sources`. A function without a disk cache is left unchanged.
    """
    known = getattr(function, "_cache", None)
    if not isinstance(known, numba.core.caching.Cache):
        return
    source = function.__wrapped__
    files = {source.__code__.co_filename, source.__globals__.get("__file__", "")}
    digest = digest_sources(frozenset(files))
    known._cache_file = CacheFile(known.cache_path, known._impl.filename_base, digest)


class CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Cached code of one function: an index, and one data file for each signature.

    Several processes may write at the same time. Numba numbers the data files and writes the index
    first, so that another process could load outdated code, or that of another signature. Here a
    data file is named after its key and the sources, and written before the index refers to it.
    """

    def _load_index(self) -> dict[Any, str]:
        """Return the data file of each signature; none if the index names types that are gone."""
        try:
            index: dict[Any, str] = super()._load_index()
        except (AttributeError, ImportError):  # a record was renamed or moved
            return {}
        return index

    def save(self, key: Any, data: Any) -> None:
        """Write `data`, the compiled code of the signature in `key`, and remove outdated files."""
        name = sha256(repr((key, self._source_stamp)).encode()).hexdigest()[:16]
        base = self._index_name.removesuffix("nbi")
        self._save_data(f"{base}{name}.nbc", data)
        overloads = {**self._load_index(), key: f"{base}{name}.nbc"}
        self._save_index(overloads)
        for path in Path(self._cache_path).glob(f"{glob.escape(base)}*.nbc"):
            if path.name not in overloads.values():
                path.unlink(missing_ok=True)  # if in use elsewhere, it is compiled again


@cache
def digest_sources(files: frozenset[str]) -> str:
    """Return the SHA-256 of the source files `files` and of the modules here that they import.

    Imports at module level are followed through the modules of this package that define compiled
    functions, and through `__init__.py`. Files that do not exist are left out.
    """
    pending = set(files)
    found: set[str] = set()
    while pending:
        found |= pending
        pending = {path for file in pending for path in _read_source(file)[1]} - found
    return sha256("".join(sorted(_read_source(file)[0] for file in found)).encode()).hexdigest()


@cache
def _read_source(file: str) -> tuple[str, frozenset[str]]:
    """Return the digest of `file` and the source files of this package that it imports.

    The latter are left out where they cannot matter to compiled code: if `file` is a module of
    this package that compiles nothing and re-exports nothing.
    """
    if not os.path.isfile(file):
        return "", frozenset()
    content = Path(file).read_bytes()
    imported: set[str] = set()
    for package, names, module in IMPORT.findall(content.decode()):
        # a name in a package is a module of its own, or comes from the package's __init__.py
        members = [f"{package}.{name}" for name in re.findall(r"\w+", names)]
        found = [_locate(member) or _locate(package) for member in members] or [_locate(module)]
        imported.update(filter(None, found))
    compiles = __file__ in imported or file == __file__
    if not compiles and file.startswith(PACKAGE) and os.path.basename(file) != "__init__.py":
        imported.clear()
    return sha256(content).hexdigest(), frozenset(imported)


@cache
def _locate(module: str) -> str | None:
    """Return the source file of `module`, a module or package in here; None if there is none."""
    stem = os.path.join(PACKAGE, *module.split(".")[1:])
    return next(filter(os.path.isfile, (f"{stem}.py", os.path.join(stem, "__init__.py"))), None)


def identity(array: Any, shape: Any = None) -> Any:
    """Return `array`: the plain Python version of `address` and `view`."""
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
"""address(array): pointer to the data of an array, one word to pass instead of seven."""

view: Any = intrinsic(_view) if JIT else identity
"""view(address, size): array of `size` numbers that begins at `address`."""


def interpreted(function: F, *callees: Callable[..., Any]) -> F:
    """Return the Python function behind the compiled `function`.

    It calls the Python functions behind `callees`, in which each may call those before it.
    """
    if not JIT:
        return function
    plain: dict[str, Any] = {"address": identity}
    copy: Any = function
    dispatchers: tuple[Any, ...] = (*callees, function)
    for dispatcher in dispatchers:
        names = {**dispatcher.py_func.__globals__, **plain}
        copy = FunctionType(dispatcher.py_func.__code__, names, dispatcher.__name__)
        plain[dispatcher.__name__] = copy
    return cast(F, copy)
