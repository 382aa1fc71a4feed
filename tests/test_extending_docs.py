"""The examples of docs/extending.md work as printed, in a folder of their own."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import belated as bl
from belated.checks.base import CHECKS as BASE
from belated.checks.law import CHECKS as LAW
from belated.checks.updater import CHECKS as UPDATER
from belated.checks.world import CHECKS as WORLD
from combinations import FULL

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", TEXT, re.DOTALL))
SESSION = "\n".join(re.findall(r"```pycon\n(.*?)```", TEXT, re.DOTALL))
COMMAND = re.findall(r"```\n(belated sweep .*)\n```", TEXT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page in it."""
    made = tmp_path_factory.mktemp("extending")
    for name, text in FILES.items():
        (made / name).write_text(text)
    if not FULL:
        (made / "conftest.py").write_text(
            "from belated.checks import base\n\nbase.SCALES = (0.1,)\n"
        )
    return made


@pytest.fixture
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Python started in that folder."""
    if not FULL:
        monkeypatch.setattr("belated.checks.base.SCALES", (0.1,))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    yield folder
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def run(session: str) -> doctest.TestResults:
    test = doctest.DocTestParser().get_doctest(session, {}, PAGE.name, str(PAGE), 0)
    flags = doctest.NORMALIZE_WHITESPACE
    return doctest.DocTestRunner(verbose=False, optionflags=flags).run(test)


def outside(folder: Path, *command: str) -> str:
    """Return the output of a command that is run in the folder."""
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": found}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_of_the_page_gives_what_is_printed(there: Path) -> None:
    result = run(SESSION)
    assert result.attempted > 30
    assert result.failed == 0


def test_the_pytest_file_of_the_page_passes(folder: Path) -> None:
    printed = outside(folder, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert f"{len(BASE) + len(UPDATER) + len(WORLD)} passed" in printed


def test_the_study_of_the_page_runs_by_the_command_of_the_page(folder: Path) -> None:
    [command] = COMMAND
    printed = outside(folder, "sh", "-c", command)
    assert "4 cells run" in printed
    assert (folder / "results" / "hopeful").is_dir()


@pytest.mark.parametrize("checks", [BASE, UPDATER, LAW, WORLD])
def test_the_page_names_every_check(checks: dict[str, object]) -> None:
    for name in checks:
        assert f"`{name}`" in TEXT, name


def test_the_table_of_functions_for_backups_has_their_arguments() -> None:
    listed = re.findall(r"^\| `(\w+)\(([\w, ]+)\)` ", TEXT, re.MULTILINE)
    assert {name for name, _ in listed} == {
        *("cap", "rest", "mean", "squares", "variance", "clipped", "unseen", "anywhere")
    }
    for name, arguments in listed:
        function = getattr(bl, name)
        plain = getattr(function, "py_func", function)  # compiled, unless compilation is disabled
        assert ", ".join(inspect.signature(plain).parameters) == arguments
