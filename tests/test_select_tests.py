"""The tests that `make check` selects for changed files."""

import runpy
from pathlib import Path
from typing import Any

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


def test_slow_files_are_selected_only_if_they_changed(tmp_path: Path) -> None:
    slow = sorted(SLOW)[0]
    (tmp_path / slow).parent.mkdir(parents=True)
    (tmp_path / slow).touch()
    assert slow not in selected(tmp_path, str(Path(slow).parent / "helper.py"))
    assert slow in selected(tmp_path, slow)
