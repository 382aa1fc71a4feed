"""Compilation with numba: decorators for kernels, and a disk cache that tracks callees.

Kernels are compiled functions that allocate no memory: they only read and write arrays that are
passed to them. Their code then needs no reference counting, which would take several times as long
as the arithmetic.

Numba caches compiled code on disk: in the folder NUMBA_CACHE_DIR, beside the source file, or in the
user's cache folder, the first of these that is writable. If none of them is writable, this module
caches the code in a private folder in the temporary directory (see `private_folder`). If this is
not possible either, functions are compiled without a cache. In both cases a warning is issued.

The cached code of a function also contains the functions that it calls. Numba itself, however,
discards cached code only when the source file of the function changes. This module also discards
it when a module that the source file imports, directly or indirectly, changes. Only modules of this
package and modules beside the source file are tracked.
"""

import glob
import multiprocessing
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

import numba.core.caching
import numba.core.ccallback
import numba.core.cgutils
import numba.core.codegen
import numba.core.compiler
import numba.core.environment
import numba.core.registry
from numba import njit
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

# numba is typed in part; these parts are not, or not as they are used here
caching: Any = numba.core.caching
UserWideCacheLocator: Any = (  # its name since numba 0.62, and before
    getattr(caching, "UserWideCacheLocator", None) or caching._UserWideCacheLocator
)
CFunc: Any = numba.core.ccallback.CFunc
Compiler: Any = numba.core.compiler.Compiler
CPUDispatcher: Any = numba.core.registry.CPUDispatcher
codegen: Any = numba.core.codegen
compile_result: Any = numba.core.compiler.compile_result
lookup_environment: Any = numba.core.environment.lookup_environment
cgutils: Any = numba.core.cgutils
types: Any = numba.types

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether functions are compiled; NUMBA_DISABLE_JIT=1 runs them as plain Python instead."""

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Options of numba: release the GIL, return inf or nan on division by zero, and compile no wrapper
that C code could call, which would take time."""

NO_ALLOCATION: dict[str, Any] = {"_nrt": False}
"""Option of numba: compile without the runtime that allocates memory and counts references."""

NAME = __name__.rpartition(".")[0]  # name of this package
PACKAGE = os.path.dirname(__file__)
IMPORT = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.MULTILINE)
"""Regular expression that matches an import statement at module level.

A match has the groups (package, names, "") for `from package import names`, and ("", "", module)
for `import module`."""


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


def uncached(function: F) -> F:
    """Return `function` as an inlined kernel without a cache file of its own.

    No file is needed, because the cached code of the callers contains the kernel.
    """
    return _jit(function, **NO_ALLOCATION, forceinline=True, cached=False)


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


class LinkedDispatcher(CPUDispatcher):  # type: ignore[misc]
    """Function that only compiled functions call, which contain its code."""

    def add_overload(self, cres: Any) -> None:
        """Add the compilation result `cres` of one signature."""
        self.overloads[tuple(cres.signature.args)] = cres


class LinkedCompiler(Compiler):  # type: ignore[misc]
    """Compiler of a `LinkedDispatcher`, which generates LLVM code, but no machine code."""

    def define_pipelines(self) -> Any:
        """Return the passes of the compiler, which store the code in a `LinkedLibrary`."""
        state = self.state
        state.flags.no_compile = True
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()

    def compile_extra(self, function: Any) -> Any:
        """Return the result of compiling `function`, by which numba finds it in calls."""
        result = super().compile_extra(function)._replace(entry_point=object())
        context = result.target_context
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


class LinkedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a function, which becomes a part of the functions that call it."""

    def _finalize_final_module(self) -> None:
        """Mark the library as complete, without compiling it to machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class LinkedCode(NamedTuple):
    """Compiled code of a `LinkedDispatcher` for one signature, as cached on disk."""

    name: str
    bitcode: bytes
    descriptor: Any
    signature: Any
    environments: tuple[Any, ...]


def set_environments(library: Any) -> None:
    """Set the environments of all functions whose code `library` contains.

    An environment holds the globals of a function; numba reads it, for example, to print a number.
    Numba sets only that of a function with machine code of its own.
    """
    for variable in library._final_module.global_variables:
        if (environment := lookup_environment(variable.name)) is not None:
            library.codegen.set_env(variable.name, environment)


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


def enable_cache(function: Any) -> None:
    """Cache the code of the compiled `function` on disk.

    If none of the folders that numba uses is writable, the code is cached in `private_folder()`. If
    this is None, the code is not cached. In both cases a warning is issued once.
    """
    try:
        function._cache = Cache(function.__wrapped__)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        if (folder := private_folder()) is None:
            _warn_once("is not cached, and every process compiles it again")
            return
        function._cache = PrivateCache(function.__wrapped__)
        _warn_once(f"is cached in {folder}")
    stamp_cache(function)


@cache
def _warn_once(state: str) -> None:
    """Warn, once, that the folders in which numba would cache compiled code are not writable.

    `state` is a predicate that says what happens to the compiled code instead, such as "is cached
    in /tmp/belated-1000". No warning is issued in a child process.
    """
    if multiprocessing.parent_process() is None:
        warnings.warn(
            "Neither the folder of the source code nor the home folder is writable: compiled code "
            f"{state}. Set NUMBA_CACHE_DIR to a writable folder to cache it there.",
            RuntimeWarning,
            stacklevel=2,
        )


@cache
def private_folder() -> str | None:
    """Return the path of a private folder for compiled code in the temporary directory.

    The folder is created if necessary. Cached code is executed, so only this user and root may be
    able to change it. Returns None if such a folder cannot be created or is not writable.
    """
    try:
        folder = Path(tempfile.gettempdir()).resolve() / f"{NAME}-{os.geteuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not _is_private(folder):
            return None
        tempfile.TemporaryFile(dir=folder).close()
    except (AttributeError, OSError):  # no geteuid on Windows; not writable
        return None
    return str(folder)


def _is_private(folder: Path) -> bool:
    """Return whether `folder` is a directory that only this user and root can access or replace."""
    user = os.geteuid()
    found = folder.lstat()  # a symbolic link is not a directory
    parents = [parent.stat() for parent in folder.parents]
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == user
        and not found.st_mode & 0o77
        and all(parent.st_uid in (0, user) for parent in parents)
        and all(p.st_mode & stat.S_ISVTX or not p.st_mode & 0o22 for p in parents)
    )


class PrivateLocator(UserWideCacheLocator):  # type: ignore[misc]
    """Numba cache locator that places the cached code of one function in `private_folder()`."""

    def __init__(self, function: FunctionType, file: str) -> None:
        super().__init__(function, file)
        self._cache_path = os.path.join(
            cast(str, private_folder()), self.get_suitable_cache_subpath(file)
        )


class CacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    """Numba cache implementation that can also store the code of a `LinkedDispatcher`."""

    def reduce(self, result: Any) -> Any:
        """Return the compilation `result` in the form that is cached."""
        library, descriptor = result.library, result.fndesc
        if not isinstance(library, LinkedLibrary):
            return super().reduce(result)
        descriptor.typemap = descriptor.calltypes = None  # not needed, as in numba
        bitcode = library._get_module_for_linking().as_bitcode()
        environments = tuple(result._find_referenced_environments())
        return LinkedCode(library.name, bitcode, descriptor, result.signature, environments)

    def rebuild(self, context: Any, cached: Any) -> Any:
        """Return the compilation result that `reduce` returned as `cached`."""
        if not isinstance(cached, LinkedCode):
            return super().rebuild(context, cached)
        library = LinkedLibrary(context.codegen(), cached.name)
        library._shared_module = codegen.ll.parse_bitcode(cached.bitcode)
        library._finalized = True
        return compile_result(
            typing_context=context.typing_context,
            target_context=context,
            typing_error=None,
            entry_point=object(),
            signature=cached.signature,
            objectmode=False,
            lifted=(),
            fndesc=cached.descriptor,
            library=library,
            referenced_envs=cached.environments,  # numba looks them up as long as they exist
        )


class PrivateCacheImpl(CacheImpl):
    """Numba cache implementation that stores compiled code in `private_folder()`."""

    _locator_classes = (PrivateLocator,)


class Cache(caching.FunctionCache):  # type: ignore[misc]
    """Numba disk cache of the code of one function."""

    _impl_class = CacheImpl


class PrivateCache(Cache):
    """Numba disk cache of the code of one function, in `private_folder()`."""

    _impl_class = PrivateCacheImpl


def stamp_cache(function: Any) -> None:
    """Make the disk cache of the compiled `function` stale when any of its sources changes.

    The sources are the file of the function, the file of the module whose globals the function
    uses, and the modules that these files import (see `digest_sources`).
    """
    known = function._cache
    source = function.__wrapped__
    files = {source.__code__.co_filename, source.__globals__.get("__file__", "")}
    digest = digest_sources(frozenset(files))
    name = known._impl.filename_base + ("-linked" if isinstance(function, LinkedDispatcher) else "")
    known._cache_file = CacheFile(known.cache_path, name, digest)


class CacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """Cached code of one function: an index, and one data file for each signature.

    Several processes may write at the same time. The base class in numba numbers the data files and
    writes the index before a data file. Another process could then load stale code, or the code of
    another signature. This class instead names each data file by a hash of its key and the sources,
    and writes the data file before the index.
    """

    def _load_index(self) -> dict[Any, str]:
        """Return the index: a dict from the key of each signature to the name of its data file.

        The dict is empty if the index refers to types that no longer exist.
        """
        try:
            index: dict[Any, str] = super()._load_index()
        except (AttributeError, ImportError):  # a record was renamed or moved
            return {}
        return index

    def load(self, key: Any) -> Any:
        """Return the compiled code for `key`, which contains the signature; None if there is none.

        None is also returned if the code refers to a module that cannot be imported, for example
        because it was imported under another name when the code was compiled.
        """
        try:
            return super().load(key)
        except (AttributeError, ImportError):
            return None

    def save(self, key: Any, data: Any) -> None:
        """Store `data`, the compiled code of the signature in `key`; remove stale data files."""
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
    """Return one SHA-256 digest of the source `files` and of all modules that they depend on.

    Dependencies are found by following imports at module level: modules of this package, and, for
    a file of a user, modules in its folder or in the package that it belongs to. The search does
    not continue from a module of this package that defines no compiled functions, unless it is
    an `__init__.py` or one of `files`. Files that do not exist are ignored.
    """
    pending = set(files)
    found: set[str] = set()
    while pending:
        found |= pending
        followed = {file for file in pending if file in files or _is_followed(file)}
        pending = {path for file in followed for path in _read_source(file)[1]} - found
    return sha256("".join(sorted(_read_source(file)[0] for file in found)).encode()).hexdigest()


def _is_followed(file: str) -> bool:
    """Return whether `digest_sources` must also search the modules that `file` imports.

    This is not necessary for a module of this package that defines no compiled functions, that is,
    does not import this module. An `__init__.py` is always searched.
    """
    return (
        not file.startswith(PACKAGE)
        or os.path.basename(file) == "__init__.py"
        or file == __file__
        or __file__ in _read_source(file)[1]
    )


@cache
def _read_source(file: str) -> tuple[str, frozenset[str]]:
    """Return the SHA-256 of `file`, and the paths of the source files that it imports."""
    if not os.path.isfile(file):
        return "", frozenset()
    content = Path(file).read_bytes()
    imported: set[str | None] = set()
    for package, names, module in IMPORT.findall(content.decode()):
        # a name in a package is a module of its own, or comes from the package's __init__.py
        members = [f"{package}.{name}" for name in re.findall(r"\w+", names)]
        found = [_locate(member, file) or _locate(package, file) for member in members]
        imported.update(found or [_locate(module, file)])
    return sha256(content).hexdigest(), frozenset(filter(None, imported))


def _locate(module: str, importer: str) -> str | None:
    """Return the path of the source file of `module`, which the file `importer` imports.

    Modules of this package are found. If `importer` is not a file of this package, modules in its
    folder and in the package to which it belongs are found too. Returns None for other modules.
    """
    first, _, rest = module.lstrip(".").partition(".")
    if first == NAME:
        return _find_source(os.path.join(PACKAGE, *rest.split(".")))
    if importer.startswith(PACKAGE):
        return None
    folder = os.path.dirname(importer)
    while (found := _find_source(os.path.join(folder, first, *rest.split(".")))) is None:
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            return None
        folder = os.path.dirname(folder)
    return found


@cache
def _find_source(stem: str) -> str | None:
    """Return `stem`.py, or else `stem`/__init__.py; None if neither file exists.

    `stem` is the path of a module or a package, without suffix.
    """
    stem = stem.rstrip(os.sep)
    return next(filter(os.path.isfile, (f"{stem}.py", os.path.join(stem, "__init__.py"))), None)


def identity(array: Any, shape: Any = None) -> Any:
    """Return `array`; `shape` is ignored.

    This function is used as `address` and as `view` when functions run as plain Python.
    """
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


def _load_tuple(context: Any, address: Any, first: Any, stride: Any, count: Any) -> Any:
    if not isinstance(count, types.Literal):
        return None
    size = count.literal_value
    tuple_type = types.UniTuple(address.dtype, size)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, at, step, _ = arguments
        values = []
        for _ in range(size):
            values.append(_load_input(builder, pointer, at))
            at = builder.add(at, step)
        return context.make_tuple(builder, tuple_type, values)

    return tuple_type(address, types.int64, types.int64, count), generate


def _read_tuple(array: Any, first: int, stride: int, count: int) -> Any:
    return tuple(array[first + i * stride] for i in range(count))


def _gather_tuple(
    context: Any, address: Any, origin: Any, indices: Any, first: Any, stride: Any, count: Any
) -> Any:
    if not isinstance(count, types.Literal):
        return None
    size = count.literal_value
    tuple_type = types.UniTuple(address.dtype, size)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, base, index_pointer, at, step, _ = arguments
        values = []
        for _ in range(size):
            index = builder.sext(_load_input(builder, index_pointer, at), base.type)
            values.append(_load_input(builder, pointer, builder.add(base, index)))
            at = builder.add(at, step)
        return context.make_tuple(builder, tuple_type, values)

    return tuple_type(address, types.int64, indices, types.int64, types.int64, count), generate


def _read_gathered(
    array: Any, origin: int, indices: Any, first: int, stride: int, count: int
) -> Any:
    return tuple(array[origin + indices[first + i * stride]] for i in range(count))


def _store_output(context: Any, address: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, at, number = arguments
        store = builder.store(number, builder.gep(pointer, [at]))
        store.set_metadata("noalias", _input_scope(builder))
        return context.get_dummy_value()

    return types.void(address, types.int64, address.dtype), generate


def _write_output(array: Any, index: int, value: Any) -> None:
    array[index] = value


def _load_input(builder: Any, pointer: Any, index: Any) -> Any:
    load = builder.load(builder.gep(pointer, [index]))
    load.set_metadata("alias.scope", _input_scope(builder))
    return load


def _input_scope(builder: Any) -> Any:
    """Return the LLVM metadata that mark all loads which no `store_output` can affect."""
    module = builder.module
    domain = module.add_metadata([NAME])
    return module.add_metadata([module.add_metadata([f"{NAME} inputs", domain])])


address: Any = intrinsic(_address) if JIT else identity
"""`address(array)` returns a pointer to the data of `array`.

A pointer is cheaper to pass to a function than an array."""

view: Any = intrinsic(_view) if JIT else identity
"""`view(address, size)` returns an array of `size` numbers whose data begins at `address`."""


load_tuple: Any = intrinsic(prefer_literal=True)(_load_tuple) if JIT else _read_tuple
"""`load_tuple(address, first, stride, count)` returns `count` numbers as a tuple.

They are read from `address`, at the positions first, first + stride, and so on. `count` must be
a constant at compile time."""

gather_tuple: Any = intrinsic(prefer_literal=True)(_gather_tuple) if JIT else _read_gathered
"""`gather_tuple(address, origin, indices, first, stride, count)` returns `count` numbers, a tuple.

They are read from `address`, at the positions origin + i for the integers i that
`load_tuple(indices, first, stride, count)` returns."""

store_output: Any = intrinsic(_store_output) if JIT else _write_output
"""`store_output(address, index, value)` stores `value` at position `index` of an array.

The array must be one that neither `load_tuple` nor `gather_tuple` reads anywhere. The compiler then
knows that the loads of a loop do not depend on its stores, and vectorises it without a check."""


def interpreted(function: F, *callees: Callable[..., Any]) -> F:
    """Return a plain Python version of the compiled `function`.

    The result calls plain Python versions of the compiled functions `callees`, instead of the
    compiled ones. `callees` must be ordered so that a callee comes before the functions that call
    it.
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
