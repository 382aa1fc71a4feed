"""Disk cache of compiled code, which tracks callees.

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
import stat
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import numba.core.caching

from belated.compiled.linking import LinkedCode, LinkedDispatcher, LinkedLibrary
from belated.compiled.sources import NAME, digest_sources

# numba is typed in part; these parts are not
caching: Any = numba.core.caching
UserWideCacheLocator: Any = (  # its name since numba 0.62, and before
    getattr(caching, "UserWideCacheLocator", None) or caching._UserWideCacheLocator
)


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
        if isinstance(result.library, LinkedLibrary):
            return result.library.reduce(result)
        return super().reduce(result)

    def rebuild(self, context: Any, cached: Any) -> Any:
        """Return the compilation result that `reduce` returned as `cached`."""
        if isinstance(cached, LinkedCode):
            return cached.rebuild(context)
        return super().rebuild(context, cached)


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
