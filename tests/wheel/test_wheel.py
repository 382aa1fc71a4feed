"""A wheel that one user installs works for another user in an empty folder; see `make test-wheel`.

The other user can write neither to the installation nor to a home folder.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

WHEEL = os.environ.get("BELATED_WHEEL", "")
TOUR = (Path(__file__).parents[2] / "docs" / "tour.md").read_text()
NOBODY = 65534
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

pytestmark = pytest.mark.skipif(not WHEEL, reason="needs the path of a wheel, BELATED_WHEEL")


class Installation:
    """A virtual environment with the wheel, and an empty folder of a user who may not write to it.

    If the tests run as root, that user is nobody; otherwise it is the user who runs the tests.
    """

    def __init__(self, root: Path) -> None:
        self.bin = root / "installed" / "bin"
        self.folder = root / "folder"
        self.temporary = root / "temporary"
        self.privileges: list[str] = []
        if os.geteuid() == 0:
            setpriv = shutil.which("setpriv") or pytest.skip("root needs setpriv")
            self.privileges = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for folder in (self.folder, self.temporary):
            folder.mkdir(mode=0o700)
            if self.privileges:
                os.chown(folder, NOBODY, NOBODY)
        python = self._usable_python()
        subprocess.run([python, "-m", "venv", self.bin.parent], check=True)
        install = ["-I", "-m", "pip", "install", "--quiet", f"{WHEEL}[report,service]"]
        subprocess.run([self.bin / "python", *install], check=True)
        subprocess.run(["chmod", "-R", "a+rX,a-w", self.bin.parent], check=True)

    def _usable_python(self) -> str:
        """Return an interpreter that the user may run; root's own may be in root's home."""
        check = "import sys, venv; sys.exit(sys.version_info < (3, 11))"
        for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
            done = subprocess.run(
                [*self.privileges, python, "-c", check], capture_output=True, cwd="/"
            )
            if done.returncode == 0:
                return python
        return pytest.skip("the user can run no Python 3.11")

    def run(self, *words: str) -> str:
        """Return what a command of the installation prints to stdout, and then to stderr."""
        environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "TMPDIR": str(self.temporary),
            "MPLCONFIGDIR": str(self.temporary),
        }
        command = [*self.privileges, str(self.bin / words[0]), *words[1:]]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    root = Path(tempfile.mkdtemp(prefix="belated-wheel-"))  # tmp_path is closed to other users
    root.chmod(0o755)
    try:
        yield Installation(root)
    finally:
        subprocess.run(["chmod", "-R", "u+w", root], check=True)
        shutil.rmtree(root)


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
