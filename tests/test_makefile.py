"""`make help` lists every target, and recipes contain what they need."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from belated import __version__

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()


def phony() -> set[str]:
    """Return the targets that are declared as phony."""
    declared = re.findall(r"^\.PHONY:((?:.*\\\n)*.*)", MAKEFILE, re.MULTILINE)
    return set(" ".join(declared).replace("\\", " ").split())


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@needs_make
def test_help_lists_every_target_with_a_description() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = dict(re.findall(r"^make (\S+) +(\S.*)$", done.stdout, re.MULTILINE))
    targets = set(re.findall(r"^([^\s.#:=][^\s:=]*):(?!=)", MAKEFILE, re.MULTILINE))
    assert set(listed) == targets == phony()


def test_check_runs_no_tests_if_they_cannot_be_selected() -> None:
    """A command that fails inside `pytest $(...)` would run all tests."""
    (recipe,) = re.findall(r"^quick:.*\n\t(.*)$", MAKEFILE, re.MULTILINE)
    assert "select_tests.py $(BASE)) && $(PYTEST) $$selected" in recipe


@needs_make
def test_the_list_of_dependencies_names_the_version_of_the_package() -> None:
    dry = ["make", "--dry-run", "sbom"]
    done = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=True)
    [replaced, version] = re.findall(r"sed 's/\^(.*)/(.*)/' pyproject.toml", done.stdout)[0]
    project = re.sub(f"(?m)^{replaced}", version, (ROOT / "pyproject.toml").read_text())
    assert tomllib.loads(project)["project"]["version"] == __version__


def test_building_distributions_keeps_the_site() -> None:
    [removed] = re.findall(r"^build:.*\n\trm -rf (.*)$", MAKEFILE, re.MULTILINE)
    assert "dist" in removed.split()
    assert "build" not in removed.split()
