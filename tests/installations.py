"""Built distributions, and environments in which tests install them; see `make test-wheel`."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

DIST = os.environ.get("BELATED_DIST", "")
"""Folder of the built distributions; empty if there is none."""

NOBODY = 65534
"""Id of a user and of a group without rights."""

needs_dist = pytest.mark.skipif(not DIST, reason="needs the folder of a build, BELATED_DIST")


def built(pattern: str) -> Path:
    """Return the only file in `DIST` whose name matches `pattern`."""
    (file,) = Path(DIST).glob(pattern)
    return file


@contextmanager
def public_folder() -> Iterator[Path]:
    """Return a context manager for a temporary folder that other users can read.

    tmp_path is closed to them. The folder is deleted at the end, also where it is read-only.
    """
    root = Path(tempfile.mkdtemp(prefix="belated-wheel-"))
    root.chmod(0o755)
    try:
        yield root
    finally:
        subprocess.run(["chmod", "-R", "u+w", root], check=True)
        shutil.rmtree(root)


def find_python(*versions: str) -> str | None:
    """Return the first interpreter of one of the `versions`, such as "3.9", that can be run."""
    for version in versions:
        if python := shutil.which(f"python{version}"):
            code = "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"
            done = subprocess.run([python, "-c", code], capture_output=True, text=True)
            if done.stdout.split()[1:] == [version]:  # a shim may not have this version
                return done.stdout.split()[0]
    return None


def create_environment(folder: Path, python: str, *requirements: str) -> Path:
    """Create a virtual environment in `folder`, install `requirements`, and return its Python."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    installed = folder / "bin" / "python"
    if requirements:
        install = ["-I", "-m", "pip", "install", "--quiet", *requirements]
        subprocess.run([installed, *install], check=True)
    return installed


class Installation:
    """A virtual environment with the wheel, and an empty folder of a user who may not write to it.

    If the tests run as root, that user is nobody; otherwise it is the user who runs the tests.
    There is no home folder.

    Parameters
    ----------
    root : Path
        Folder that the user can read; see `public_folder`.
    extras : str
        Extras to install, separated by commas.
    """

    def __init__(self, root: Path, extras: str) -> None:
        self.bin = root / "installed" / "bin"
        self.folder = root / "folder"
        self.temporary = root / "temporary"
        self.privileges: list[str] = []
        if os.geteuid() == 0:
            setpriv = shutil.which("setpriv") or pytest.skip("root needs setpriv")
            self.privileges = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for folder in (self.folder, self.temporary):
            self.give(folder)
        wheel = f"{built('belated-*.whl')}[{extras}]"
        create_environment(self.bin.parent, self._usable_python(), wheel)
        subprocess.run(["chmod", "-R", "a+rX,a-w", self.bin.parent], check=True)

    def give(self, folder: Path) -> Path:
        """Create `folder`, which only the user can read and write, and return it."""
        folder.mkdir(mode=0o700)
        if self.privileges:
            os.chown(folder, NOBODY, NOBODY)
        return folder

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

    def command(self, *words: str) -> list[str]:
        """Return a command of the installation that runs as the user."""
        return [*self.privileges, str(self.bin / words[0]), *words[1:]]

    def environment(self, variables: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of the user, with further `variables`."""
        return {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "TMPDIR": str(self.temporary),
            "MPLCONFIGDIR": str(self.temporary),
            **(variables or {}),
        }

    def run(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """Return what a command of the installation prints to stdout, and then to stderr."""
        done = subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment(variables),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr
