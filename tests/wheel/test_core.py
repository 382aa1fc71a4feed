"""The wheel without extras, with each supported Python that is installed."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from installations import built, create_environment, find_python, needs_dist, public_folder

SIMULATE = """
import belated as bl
run = bl.simulate("chain-3", base="ucrl2:scale=0.1", updater="lazy:10", delay="geometric:10",
                  episodes=300, seed=7)
print(float(run.total_regret).hex(), run.updates)
"""
NO_EXTRAS = """
from importlib.util import find_spec
assert not any(map(find_spec, ["matplotlib", "duckdb", "sqlalchemy", "fastapi", "jinja2"]))
"""

pytestmark = needs_dist


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13"])
def python(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Python of a new environment in which the wheel is installed without extras."""
    found = find_python(request.param) or pytest.skip(f"Python {request.param} is not installed")
    with public_folder() as root:
        yield create_environment(root / "core", found, str(built("belated-*.whl")))


def test_the_core_simulates_with_the_same_result_as_the_source(python: Path) -> None:
    core, source = (
        subprocess.run(command, capture_output=True, text=True)
        for command in (
            [python, "-I", "-c", NO_EXTRAS + SIMULATE],
            [sys.executable, "-c", SIMULATE],
        )
    )
    assert core.returncode == 0, core.stderr
    assert core.stdout == source.stdout
    assert core.stdout.startswith("0x1.")


def test_the_command_line_works_and_names_the_extra_that_it_needs(python: Path) -> None:
    command = python.with_name("belated")
    worlds = subprocess.run([command, "worlds"], capture_output=True, text=True, check=True)
    assert "riverswim" in worlds.stdout
    for words, extra in ((["sweep", "alpha"], "sweep"), (["serve"], "service")):
        done = subprocess.run([command, *words], capture_output=True, text=True)
        assert done.returncode == 1
        assert re.search(rf"needs .+: pip install 'belated\[{extra}\]'\.\n$", done.stderr)
