"""The disk cache of compiled code: where it lies, and what happens to files that are damaged."""

import inspect
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numba
import numba.core.caching
import numba.core.ccallback
import numba.core.compiler
import numba.core.registry
import numpy as np
import pytest

from belated.compiled import JIT, bind, cache, compile_callback, inlined, kernel

needs_compiler = pytest.mark.skipif(not JIT, reason="nothing is compiled")


def scale(x):
    """Raise TypeError: `bind` replaces this function."""
    raise TypeError("scale must be bound.")


def scaled(x):
    """Call the global that `bind` replaces."""
    return scale(x) + 1


scaled.__module__ = cache.__name__  # functions of users are cached only as a part of these


def times(factor: Any) -> Any:
    """Return `scaled` bound to a function that multiplies by `factor`, compiled anew."""

    def multiply(x):
        return x * factor

    return kernel(bind(scaled, scale=inlined(multiply)))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[Path]]:
    """Keep compiled code in an empty folder; return a function that lists its files."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "code")
    return lambda: set(tmp_path.glob("code/*"))


def is_loaded(function: Any) -> bool:
    return sum(function.stats.cache_hits.values()) > 0


@needs_compiler
def test_code_is_compiled_once_for_each_signature(files: Callable[[], set[Path]]) -> None:
    first = times(2)
    assert not cache.has_code(first.py_func)
    assert (first(3), is_loaded(first), len(files())) == (7, False, 1)
    again = times(2)
    assert cache.has_code(again.py_func)
    assert (again(3), is_loaded(again), len(files())) == (7, True, 1)
    assert (again(0.5), len(files())) == (2.0, 2)
    other = times(3)
    assert not cache.has_code(other.py_func)
    assert (other(3), is_loaded(other), len(files())) == (10, False, 3)


@needs_compiler
def test_callbacks_are_cached_too(files: Callable[[], set[Path]]) -> None:
    signature = numba.types.int64(numba.types.int64)
    for hits in (0, 1):
        callback = compile_callback(times(2).py_func, signature)
        assert (callback.ctypes(3), callback.cache_hits, len(files())) == (7, hits, 1)


@needs_compiler
@pytest.mark.parametrize("content", [b"", b"short", b"x" * 5000, None], ids=repr)
def test_a_damaged_file_is_compiled_anew_and_replaced(
    files: Callable[[], set[Path]], content: bytes | None
) -> None:
    times(2)(3)
    (path,) = files()
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]) if content is None else content)
    assert (times(2)(3), is_loaded(times(2))) == (7, False)
    assert files() == {path}
    again = times(2)
    assert (again(3), is_loaded(again)) == (7, True)


@needs_compiler
def test_code_that_contains_an_address_is_not_cached(files: Callable[[], set[Path]]) -> None:
    table = np.arange(1_000_000.0)  # numba compiles the address of an array of this size

    def look_up(x):
        return table[x]

    for _ in range(2):
        assert kernel(bind(scaled, scale=inlined(look_up)))(3) == 4
        assert not files()


@needs_compiler
def test_code_is_compiled_though_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "code", None):
        monkeypatch.setattr(cache, "folder", lambda folder=folder: folder)
        assert times(2)(3) == 7


# The folder


class Places:
    """The places for compiled code, in a temporary directory, and whether they are writable."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chosen, self.home, self.temporary = root / "chosen", root / "home", root / "temporary"
        self.temporary.mkdir(mode=0o700)
        self.private = self.temporary / f"belated-{os.geteuid()}"
        self.monkeypatch = monkeypatch
        monkeypatch.delenv("LOCALAPPDATA", raising=False)
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.home))
        monkeypatch.setattr(tempfile, "tempdir", str(self.temporary))

    def find(self, *, warns: str | None = None) -> Path | None:
        """Return the parent of the folder that is found, which gives a warning or none."""
        context: Any = pytest.warns(RuntimeWarning, match=warns) if warns else nullcontext()
        with context:
            found = cache.folder.__wrapped__()
        assert found is None or found.name == cache.digest_sources()
        return None if found is None else found.parent


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return Places(tmp_path, monkeypatch)


IS_PRIVATE = r"not writable: compiled code is cached in .*/belated-\d+\. Set NUMBA_CACHE_DIR"
IS_NOT_CACHED = r"compiled code is not cached, every process compiles it\. Set NUMBA_CACHE_DIR"


@pytest.mark.plain
def test_the_first_writable_folder_is_used(places: Places) -> None:
    assert places.find() == places.home / "belated"
    places.monkeypatch.setenv("NUMBA_CACHE_DIR", str(places.chosen))
    assert places.find() == places.chosen
    places.chosen.rename(places.chosen.with_name("other"))
    places.chosen.touch()  # a file: nothing can be written there
    assert places.find() == places.home / "belated"
    places.home.rename(places.home.with_name("old"))
    places.home.touch()
    assert places.find(warns=IS_PRIVATE) == places.private
    assert places.private.stat().st_mode & 0o777 == 0o700


@pytest.mark.plain
def test_only_the_main_process_warns(places: Places) -> None:
    places.home.touch()
    places.monkeypatch.setattr(multiprocessing, "parent_process", object)
    assert places.find() == places.private


@pytest.mark.plain
def test_a_folder_that_others_can_change_is_never_private(places: Places) -> None:
    places.home.touch()
    assert places.find(warns=IS_PRIVATE) == places.private
    for mode in (0o770, 0o707, 0o740):
        places.private.chmod(mode)
        assert places.find(warns=IS_NOT_CACHED) is None
    places.private.chmod(0o700)
    for mode in (0o777, 0o770):  # others could rename the folder and put their own in its place
        places.temporary.chmod(mode)
        assert places.find(warns=IS_NOT_CACHED) is None
    places.temporary.chmod(0o1777)
    assert places.find(warns=IS_PRIVATE) == places.private
    places.private.rename(places.home.with_name("elsewhere"))
    places.private.symlink_to(places.home.with_name("elsewhere"))
    assert places.find(warns=IS_NOT_CACHED) is None


@pytest.mark.plain
def test_a_folder_of_another_user_is_never_private(places: Places) -> None:
    places.home.touch()
    other = os.geteuid() + 1
    places.monkeypatch.setattr(os, "geteuid", lambda: other)
    (places.temporary / f"belated-{other}").mkdir(mode=0o700)
    assert places.find(warns=IS_NOT_CACHED) is None


@pytest.mark.plain
def test_folders_of_other_sources_are_deleted_when_they_have_long_been_unused(
    places: Places,
) -> None:
    parent = places.home / "belated"
    names = cache.digest_sources(), f"belated-{'a' * 24}", f"belated-{'b' * 24}"
    own, old, recent = (parent / name for name in names)
    long_ago = time.time() - cache.MAX_UNUSED_S - 60
    others = [parent / name for name in ("somebody's", "c" * 24, "belated-results-of-2026-run-1")]
    for path in (own, old, recent, *others):
        (path / "inside").mkdir(parents=True)
        os.utime(path, (long_ago, long_ago))
    os.utime(recent)
    file = parent / f"belated-{'d' * 24}"
    file.touch()
    os.utime(file, (long_ago, long_ago))
    places.find()
    assert set(parent.iterdir()) == {own, recent, file, *others}
    assert time.time() - own.stat().st_mtime < cache.MAX_UNUSED_S  # used today


@pytest.mark.plain
def test_the_digest_changes_with_sources_that_kernels_are_made_from_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    digests = []
    for name in ("learner/base.py", "elementary.py", "service/routes.py", "cli/main.py"):
        for text in ("x = 1\n", "x = 2\n"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
            digests.append(cache.digest_sources.__wrapped__())
    assert len(set(digests[:4])) == 4
    assert set(digests[3:]) == {digests[3]}


# Numba

WHERE = "numba has changed; adapt belated.compiled.cache and belated.compiled.decorators"
SIGNATURES: dict[str, tuple[Any, list[str]]] = {
    "load": (numba.core.caching._Cache.load_overload, ["self", "sig", "target_context"]),
    "save": (numba.core.caching._Cache.save_overload, ["self", "sig", "data"]),
    "reduce": (numba.core.caching.CompileResultCacheImpl.reduce, ["self", "cres"]),
    "rebuild": (
        numba.core.caching.CompileResultCacheImpl.rebuild,
        ["self", "target_context", "payload"],
    ),
    "callback": (
        numba.core.ccallback.CFunc.__init__,
        ["self", "pyfunc", "sig", "locals", "options", "pipeline_class"],
    ),
    "dispatcher": (
        numba.core.registry.CPUDispatcher._compile_for_args,
        ["self", "args", "kws"],
    ),
}


@pytest.mark.plain
@pytest.mark.parametrize("name", SIGNATURES)
def test_numba_has_the_functions_that_the_cache_is_made_of(name: str) -> None:
    function, parameters = SIGNATURES[name]
    assert list(inspect.signature(function).parameters) == parameters, WHERE


@pytest.mark.plain
def test_numba_has_one_abstract_cache_and_reduces_code_without_its_state() -> None:
    abstract = {"cache_path", "load_overload", "save_overload", "enable", "disable", "flush"}
    assert numba.core.caching._Cache.__abstractmethods__ == abstract, WHERE
    for method in ("reduce", "rebuild"):  # called with None as self
        source = inspect.getsource(getattr(cache.Reducer, method))
        assert source.count("self") == 1, WHERE


@needs_compiler
def test_numba_keeps_the_cache_of_a_function_where_it_is_replaced(
    files: Callable[[], set[Path]],
) -> None:
    signature = numba.types.int64(numba.types.int64)
    for function in (times(2), compile_callback(times(2).py_func, signature)):
        assert isinstance(function._cache, cache.DiskCache), WHERE
    plain = numba.njit(lambda x: x)
    assert isinstance(plain._cache, numba.core.caching.NullCache), WHERE
    assert callable(plain.targetctx.refresh), WHERE
    assert hasattr(plain.targetctx.codegen(), "magic_tuple"), WHERE
    plain(1)
    (result,) = plain.overloads.values()
    assert result.library.has_dynamic_globals is False, WHERE
