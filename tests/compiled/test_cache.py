"""The disk cache of compiled code depends on every source file that the code is made from."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import belated.compiled
from belated.compiled import JIT
from belated.compiled.cache import CacheFile, private_folder
from processes import Program

SOURCES = {
    "tiny/__init__.py": "",
    "tiny/numbers.py": "UNIT = 1\n",
    "tiny/callee.py": """
from tiny.compiled import inlined
from tiny.numbers import UNIT

@inlined
def step(x):
    return x + UNIT
""",
    "tiny/middle.py": """
from tiny import callee
from tiny.compiled import kernel

step = callee.step

@kernel
def twice(x):
    return step(step(x))
""",
    "tiny/unrelated.py": "from tiny.middle import twice\n",
    "tiny/plain.py": "import tiny.unrelated\n\nSHIFT = 0\n",
    "tiny/caller.py": """
from tiny.compiled import kernel
from tiny.middle import twice
from tiny.plain import SHIFT

@kernel
def advance(x):
    return twice(x) + SHIFT
""",
    "elsewhere/helper.py": "FACTOR = 1\n",
    "elsewhere/user.py": """
from helper import FACTOR
from tiny.callee import step

def backup(x):
    return FACTOR * 10 * step(x)
""",
    "elsewhere/main.py": """
from types import FunctionType

import numba
import tiny.caller
import user
from tiny.compiled import compile_callback

advance = tiny.caller.advance
names = {**tiny.caller.__dict__, **user.__dict__, "__file__": tiny.caller.__file__}
backup = FunctionType(user.backup.__code__, names, "backup")
callback = compile_callback(backup, numba.types.int64(numba.types.int64))
value = callback.ctypes(1)
print(advance(1), sum(advance.stats.cache_hits.values()), value, callback.cache_hits)
""",
}


class Outcome(NamedTuple):
    """Printed by a process that calls a kernel and a callback."""

    advanced: int
    kernel_cached: int
    backed_up: int
    callback_cached: int


class Project:
    """A small package that compiles with a copy of `belated.compiled`, and a user's file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in SOURCES.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        (root / "tiny" / "compiled").mkdir()
        for path in Path(belated.compiled.__file__).parent.glob("*.py"):
            text = path.read_text().replace("from belated.", "from tiny.")
            (root / "tiny" / "compiled" / path.name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new))

    def run(self) -> Outcome:
        """Return the outcome; bytecode would be stale after two edits in one second."""
        main = str(self.root / "elsewhere" / "main.py")
        paths = [str(self.root), str(self.root / "elsewhere")]
        script = f"import runpy, sys; sys.dont_write_bytecode = True; sys.path[:0] = {paths}; "
        code, printed = Program(f"{script} runpy.run_path({main!r})").end()
        assert code == 0
        return Outcome(*map(int, printed.split()))

    def run_with(self, *privileges: str, **environment: str) -> tuple[Outcome, str]:
        """Return the outcome and the standard error; `privileges` is a command that runs Python."""
        command = [*privileges, sys.executable, str(self.root / "elsewhere" / "main.py")]
        environment["PYTHONPATH"] = str(self.root)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return Outcome(*map(int, done.stdout.split())), done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


needs_compiler = pytest.mark.skipif(not JIT, reason="nothing is compiled")


@needs_compiler
def test_code_is_compiled_again_if_and_only_if_a_source_of_it_changed(project: Project) -> None:
    def cached() -> set[str]:
        return {path.name for path in (project.root / "tiny" / "__pycache__").glob("*.nbc")}

    assert project.run() == Outcome(3, 0, 20, 0)
    project.edit("tiny/unrelated.py", "twice", "twice as double")
    assert project.run() == Outcome(3, 1, 20, 1)
    project.edit("elsewhere/user.py", "10 *", "20 *")
    assert project.run() == Outcome(3, 1, 40, 0)
    project.edit("tiny/numbers.py", "1", "3")  # in a module that compiles nothing
    assert project.run() == Outcome(7, 0, 80, 0)
    before = cached()
    project.edit("tiny/callee.py", "x + UNIT", "x + 2 * UNIT")  # two imports away
    assert project.run() == Outcome(13, 0, 140, 0)
    assert len(cached()) == len(before)  # outdated files are removed
    assert not cached() & before


@needs_compiler
def test_code_is_compiled_again_if_a_module_beside_a_file_of_a_user_changed(
    project: Project,
) -> None:
    assert project.run() == COMPILED
    project.edit("elsewhere/helper.py", "1", "3")
    assert project.run() == Outcome(3, 1, 60, 0)


def test_an_index_never_refers_to_code_that_is_not_written_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CacheFile(str(tmp_path), "module.function-1", "digest of the sources")
    written: list[str] = []
    open_file = cache._open_for_write
    monkeypatch.setattr(
        cache, "_open_for_write", lambda path: (written.append(path), open_file(path))[1]
    )
    for key in ("signature", "another signature"):
        cache.save(key, f"code of {key}")
        assert [Path(path).suffix for path in written] == [".nbc", ".nbi"]
        assert cache.load(key) == f"code of {key}"
        written.clear()
    assert len(list(tmp_path.glob("*.nbc"))) == 2
    assert CacheFile(str(tmp_path), "module.function-1", "other digest").load("signature") is None


class ReadOnlyProject(Project):
    """A project whose folders and home are not writable, and a temporary directory."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / "installed")
        self.temporary = root / "temporary"
        self.private = self.temporary / f"tiny-{os.geteuid()}"
        self.temporary.mkdir(mode=0o700)
        self.folders = [self.root, *filter(Path.is_dir, self.root.iterdir())]

    def run_unprivileged(self, **environment: str) -> tuple[Outcome, str]:
        """Run as a user whom file permissions bind, which they do not for root."""
        privileges = []
        if os.geteuid() == 0:
            setpriv = shutil.which("setpriv") or pytest.skip("root without setpriv writes anywhere")
            privileges = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
        settings = {"HOME": str(self.root), "TMPDIR": str(self.temporary), **environment}
        return self.run_with(*privileges, **settings)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[ReadOnlyProject]:
    (tmp_path / "installed").mkdir()
    project = ReadOnlyProject(tmp_path)
    for folder in project.folders:
        folder.chmod(0o555)
    yield project
    for folder in [*project.folders, project.temporary]:
        folder.chmod(0o755)


CACHED = Outcome(3, 1, 20, 1)
COMPILED = Outcome(3, 0, 20, 0)


@needs_compiler
def test_code_is_cached_in_a_private_folder_if_no_usual_one_is_writable(
    read_only: ReadOnlyProject,
) -> None:
    outcome, stderr = read_only.run_unprivileged()
    assert outcome == COMPILED
    assert stderr.count(f"compiled code is cached in {read_only.private}.") == 1
    assert stderr.count("Set NUMBA_CACHE_DIR") == 1
    assert stat.S_IMODE(read_only.private.stat().st_mode) == 0o700
    assert read_only.run_unprivileged()[0] == CACHED


@needs_compiler
def test_a_folder_in_numba_cache_dir_is_used_without_a_warning(
    read_only: ReadOnlyProject, tmp_path: Path
) -> None:
    folder = str(tmp_path / "chosen")
    assert read_only.run_unprivileged(NUMBA_CACHE_DIR=folder) == (COMPILED, "")
    assert read_only.run_unprivileged(NUMBA_CACHE_DIR=folder) == (CACHED, "")
    assert not list(read_only.temporary.iterdir())


@needs_compiler
def test_code_is_compiled_without_a_cache_if_there_is_no_private_folder(
    read_only: ReadOnlyProject,
) -> None:
    read_only.private.mkdir()
    read_only.private.chmod(0o770)
    for _ in range(2):
        outcome, stderr = read_only.run_unprivileged()
        assert outcome == COMPILED
        assert stderr.count("compiled code is not cached") == 1
        assert stderr.count("Set NUMBA_CACHE_DIR") == 1
    assert not list(read_only.private.iterdir())


def find_private_folder(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return private_folder.__wrapped__()


def test_a_folder_that_others_can_change_is_never_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"belated-{os.geteuid()}"
    assert find_private_folder(tmp_path, monkeypatch) == str(folder)
    for mode in (0o770, 0o707, 0o740):
        folder.chmod(mode)
        assert find_private_folder(tmp_path, monkeypatch) is None
    folder.chmod(0o700)
    for mode in (0o777, 0o770):  # others could rename the folder and put their own in its place
        tmp_path.chmod(mode)
        assert find_private_folder(tmp_path, monkeypatch) is None
    tmp_path.chmod(0o1777)
    assert find_private_folder(tmp_path, monkeypatch) == str(folder)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert find_private_folder(tmp_path, monkeypatch) is None


def test_a_folder_of_another_user_is_never_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    (tmp_path / f"belated-{other}").mkdir(mode=0o700)
    assert find_private_folder(tmp_path, monkeypatch) is None


def test_there_is_no_private_folder_without_a_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_private_folder(tmp_path / "missing", monkeypatch) is None


def test_code_is_compiled_again_if_its_module_has_another_name(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own.py").write_text(
        "from belated.compiled import compiled\n\n\n@compiled\ndef add(x, y):\n    return x + y\n"
    )
    for name in ("own", "folder.own"):
        script = f"import sys; sys.path[:0] = {[str(folder), str(tmp_path)][name != 'own' :]!r}\n"
        script += f"import {name} as own; assert own.add(1, 2) == 3"
        assert Program(script).end() == (0, "")
