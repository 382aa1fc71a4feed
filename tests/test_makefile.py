"""`make help` lists every target."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()


def phony() -> set[str]:
    """Return the targets that are declared as phony."""
    declared = re.findall(r"^\.PHONY:((?:.*\\\n)*.*)", MAKEFILE, re.MULTILINE)
    return set(" ".join(declared).replace("\\", " ").split())


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_help_lists_every_target_with_a_description() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = dict(re.findall(r"^make (\S+) +(\S.*)$", done.stdout, re.MULTILINE))
    targets = set(re.findall(r"^([^\s.#:=][^\s:=]*):(?!=)", MAKEFILE, re.MULTILINE))
    assert set(listed) == targets == phony()


def test_check_runs_no_tests_if_they_cannot_be_selected() -> None:
    """A command that fails inside `pytest $(...)` would run all tests."""
    (recipe,) = re.findall(r"^quick:.*\n\t(.*)$", MAKEFILE, re.MULTILINE)
    assert "select_tests.py $(BASE)) && $(PYTEST) $$selected" in recipe
