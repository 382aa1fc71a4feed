"""A wheel that one user installs works for another user in an empty folder; see `make test-wheel`.

The other user can write neither to the installation nor to a home folder.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from installations import Installation, needs_dist, public_folder

TOUR = (Path(__file__).parents[2] / "docs" / "tour.md").read_text()
SHORTER = {
    "run": ["--episodes", "300", "--seeds", "2"],
    "calibrate": ["--episodes", "200", "--seeds", "2"],
    "reproduce": ["--help"],
    "sweep": ["--help"],
    "figures": ["--help"],
}
"""Words added to commands of the tour that take minutes, or need the results of such a command.
"""

STUDY = """
name = "small"
episodes = 200
seeds = 2
worlds = ["chain-3"]
updaters = ["active", "lazy:10"]
delays = ["constant:0", "geometric:5"]
bases = ["ucrl2"]
"""

pytestmark = needs_dist


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with public_folder() as root:
        yield Installation(root, "report,service")


def tour_commands() -> list[list[str]]:
    """Return the commands of the section of docs/tour.md on the command line, as words."""
    section = TOUR.split("## On the command line\n")[1].split("\n## ")[0]
    block = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert block is not None
    lines = block[1].replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines]


def test_a_simulation_is_compiled_once_for_a_user_who_can_write_nowhere_else(
    installation: Installation,
) -> None:
    script = (
        "import belated as bl; print(bl.simulate(bl.world('chain-3'), base=bl.UCRL2(scale=0.1), "
        "updater=bl.Lazy(10), delay=bl.delays.geometric(mean=10), episodes=300).updates)"
    )
    first, second = (installation.run("python", "-c", script) for _ in range(2))
    for printed in (first, second):
        assert re.match(r"\d+\n", printed)
        assert printed.count("Set NUMBA_CACHE_DIR") == 1
    assert "Compiling the engine" in first
    assert "Compiling the engine" not in second


@pytest.mark.parametrize("words", tour_commands(), ids=lambda words: words[1])
def test_the_commands_of_the_tour_work_in_an_empty_folder(
    words: list[str], installation: Installation
) -> None:
    printed = installation.run(*words, *SHORTER.get(words[1], []))
    assert "NUMBA_CACHE_DIR" not in installation.run("python", "-m", *words[:2], "--help")
    assert len(printed.splitlines()) > 3


def test_a_study_is_run_and_drawn_and_the_packaged_ones_are_found(
    installation: Installation,
) -> None:
    script = "from belated.sweep.study import read_study; print(read_study('late-rewards').name)"
    assert installation.run("python", "-c", script).startswith("late-rewards\n")
    (installation.folder / "small.toml").write_text(STUDY)
    assert "4 cells run" in installation.run("belated", "sweep", "small.toml")
    installation.run("belated", "figures", "results/small")
    assert list((installation.folder / "results" / "small" / "figures").glob("*.png"))


def test_a_ledger_is_created(installation: Installation) -> None:
    create = ["token", "create", "--scope", "decide", "--store", "sqlite:///belated.db"]
    installation.run("belated", *create)
    assert "decide" in installation.run("belated", "token", "list", *create[-2:])
