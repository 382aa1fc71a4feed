"""Disk cache of compiled code.

Numba's own cache discards code when the source file of a function changes, but not when a function
that it calls does. Here, all code lies in a folder that belongs to one digest of the sources of
this package, so that nothing stale is ever found. Code of a user's functions is found by a name
that contains the digest of everything bound to it; see `belated.compiled.bind`.

The folder is NUMBA_CACHE_DIR, the cache folder of the user, or a private folder in the temporary
directory: the first of these that is writable. If none is, every process compiles anew.
"""

import multiprocessing
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numba
import numba.core.caching
from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]
from numba.core.serialize import dumps

# numba is typed in part; these parts are not
NullCache: Any = numba.core.caching.NullCache
Reducer: Any = numba.core.caching.CompileResultCacheImpl

PACKAGE: Final = Path(__file__).parents[1]
WITHOUT_KERNELS: Final = frozenset(
    ["checks", "cli", "client", "demo", "figures", "gym", "ledger", "online", "service", "sweep"]
)
"""Packages whose sources do not affect compiled code."""

FOLDER_PREFIX: Final = "belated-"
"""Start of the names of the folders, by which old ones are told from folders of other programs."""

MAX_UNUSED_S: Final = 30 * 86_400
"""Age, in seconds, at which a folder of code of other sources is deleted."""


class DiskCache(NullCache):  # type: ignore[misc]
    """Cached code of one function: one file for each signature and kind of processor.

    A file begins with the digest of its content. A file that is damaged, or refers to something
    that no longer exists, is deleted, and the function is compiled again. The cache is always in
    use, so that `enable`, `disable` and `flush` do nothing.
    """

    def __init__(self, function: Any, folder: Path) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._prefix = f"{function.__name__}-{sha256(self._name.encode()).hexdigest()[:8]}-"
        self._folder = folder

    @property
    def cache_path(self) -> str:
        """Folder of the files."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for the signature `sig`, or None if there is none."""
        path = self._path(sig, target_context)
        target_context.refresh()
        try:
            content = path.read_bytes()
            if sha256(content[32:]).digest() != content[:32]:
                raise ValueError("The file is damaged.")
            return Reducer.rebuild(None, target_context, pickle.loads(content[32:]))
        except FileNotFoundError:
            return None
        except Exception:
            with suppress(OSError):
                path.unlink()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compilation result `data` for the signature `sig`.

        Code with addresses of this process, such as those of large global arrays, is not stored.
        """
        if data.library.has_dynamic_globals:
            return
        content = dumps(Reducer.reduce(None, data))
        path = self._path(sig, data.target_context)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(sha256(content).digest() + content)
            os.replace(file.name, path)

    def exists(self) -> bool:
        """Return whether there is code for any signature."""
        return any(self._folder.glob(f"{self._prefix}*.nbc"))

    def _path(self, sig: Any, target_context: Any) -> Path:
        key = f"{self._name} {sig} {target_context.codegen().magic_tuple()}"
        return self._folder / f"{self._prefix}{sha256(key.encode()).hexdigest()[:24]}.nbc"


def cache_of(function: Any) -> Any:
    """Return the cache of the compiled code of a Python `function`."""
    found = folder()
    return NullCache() if found is None else DiskCache(function, found)


def has_code(function: Any) -> bool:
    """Return whether there is code of a Python `function` on disk, for any signature."""
    found = folder()
    return found is not None and DiskCache(function, found).exists()


@cache
def digest_sources() -> str:
    """Return the name of the folder: a digest of sources, versions and the processor."""
    tag = sys.implementation.cache_tag
    processor = os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()
    digest = sha256(f"{numba.__version__} {tag} {processor}".encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] not in WITHOUT_KERNELS:
            digest.update(path.read_bytes())
    return f"{FOLDER_PREFIX}{digest.hexdigest()[:24]}"


@cache
def folder() -> Path | None:
    """Return the folder of the compiled code of these sources; None if no folder is writable."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    for parent in (chosen, os.path.expanduser(os.path.join(home, "belated"))):
        if parent and _is_writable(Path(parent)):
            _sweep(Path(parent))
            return Path(parent, digest_sources())
    private = Path(tempfile.gettempdir()).resolve() / f"belated-{getattr(os, 'geteuid', int)()}"
    usable = hasattr(os, "geteuid") and _is_private(private) and _is_writable(private)
    state = f"is cached in {private}" if usable else "is not cached, every process compiles it"
    if multiprocessing.parent_process() is None:
        warnings.warn(
            f"The cache folder of the user is not writable: compiled code {state}. Set "
            "NUMBA_CACHE_DIR to a writable folder to cache it there.",
            RuntimeWarning,
            stacklevel=2,
        )
    return private / digest_sources() if usable else None


def _is_writable(parent: Path) -> bool:
    try:
        parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=parent).close()
    except OSError:
        return False
    return True


def _is_private(path: Path) -> bool:
    """Return whether only this user and root can change `path`, which is created if necessary.

    Cached code is executed, so that nobody else may be able to replace it.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()  # a symbolic link is not a directory
        parents = [parent.stat() for parent in path.parents]
    except OSError:
        return False
    user = os.geteuid()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == user
        and not found.st_mode & 0o77
        and all(parent.st_uid in (0, user) for parent in parents)
        and all(p.st_mode & stat.S_ISVTX or not p.st_mode & 0o22 for p in parents)
    )


def _sweep(parent: Path) -> None:
    """Mark the folder of these sources in `parent` as used, and delete those long unused."""
    with suppress(OSError):
        own = parent / digest_sources()
        own.mkdir(exist_ok=True)
        os.utime(own)
        for other in parent.iterdir():
            is_ours = re.fullmatch(f"{FOLDER_PREFIX}[0-9a-f]{{24}}", other.name) is not None
            if is_ours and other.is_dir() and time.time() - other.stat().st_mtime > MAX_UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)
