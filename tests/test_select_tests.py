"""The tests that `make check` selects for changed files."""

import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "select_tests.py"))
CORE, SLOW, select = SCRIPT["CORE"], SCRIPT["SLOW"], SCRIPT["select"]


def selected(root: Path, *changed: str) -> list[str]:
    """Return the selection without the core, in a project with these files and some others."""
    others = ("tests/a/test_b.py", "tests/a/test_c.py", "tests/d/test_e.py")
    for name in (*changed, *others):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return [name for name in select(changed, root) if name not in CORE]


def test_every_named_file_exists() -> None:
    files = {name.partition("::")[0] for name in (*CORE, *SLOW)}
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_a_module_selects_its_doctests_and_its_test_file(tmp_path: Path) -> None:
    module = "src/belated/a/b.py"
    assert selected(tmp_path, module) == [module, "tests/a/test_b.py"]


def test_a_module_without_a_test_file_selects_the_folder_of_its_package(tmp_path: Path) -> None:
    folder = ["tests/a/test_b.py", "tests/a/test_c.py"]
    for module in ("src/belated/a/f.py", "src/belated/a/sub/f.py"):
        assert selected(tmp_path, module) == [module, *folder]
    assert selected(tmp_path, "src/belated/f.py") == ["src/belated/f.py"]


def test_a_test_file_selects_itself_and_a_helper_its_folder(tmp_path: Path) -> None:
    assert selected(tmp_path, "tests/d/test_e.py") == ["tests/d/test_e.py"]
    assert selected(tmp_path, "tests/d/helper.py") == ["tests/d/test_e.py"]
    assert selected(tmp_path, "README.md", "tests/browser/test_x.py") == []


def test_a_part_of_a_file_is_left_out_where_the_whole_file_is_selected(tmp_path: Path) -> None:
    part = next(name for name in CORE if "::" in name)
    file = part.partition("::")[0]
    assert part in select([], tmp_path)
    assert selected(tmp_path, file) == [file]
    assert part not in select([file], tmp_path)


def test_a_file_that_was_deleted_selects_nothing() -> None:
    assert select(["src/belated/gone.py", "tests/test_gone.py"]) == list(CORE)


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def test_a_committed_change_is_found_without_a_local_main(tmp_path: Path) -> None:
    """A clone whose only local branch is another one compares with the branch of its origin."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "-b", "main")
    git(origin, "commit", "--allow-empty", "-m", "Start")
    git(tmp_path, "clone", str(origin), str(clone))
    git(clone, "checkout", "-b", "mine")
    git(clone, "branch", "-D", "main")
    (clone / "a.py").touch()
    git(clone, "add", "a.py")
    git(clone, "commit", "-m", "Add")
    (clone / "b.py").touch()
    assert SCRIPT["changed_files"]("main", clone) == ["a.py", "b.py"]
    git(clone, "remote", "remove", "origin")
    with pytest.raises(SystemExit, match=r"^branch main not found; make check BASE=\.\.\. "):
        SCRIPT["changed_files"]("main", clone)


def test_slow_files_are_selected_only_if_they_changed(tmp_path: Path) -> None:
    slow = sorted(SLOW)[0]
    (tmp_path / slow).parent.mkdir(parents=True)
    (tmp_path / slow).touch()
    assert slow not in selected(tmp_path, str(Path(slow).parent / "helper.py"))
    assert slow in selected(tmp_path, slow)
