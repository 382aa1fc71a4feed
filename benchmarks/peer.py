"""rlberry-scool's UCBVI, in a virtual environment and a process of its own.

It takes turns with the other contestants of the same run: each request plays some episodes and
is answered with the seconds they took, measured over there.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import belated as bl

PACKAGE = "rlberry-scool==0.7.3"
HOME = Path(__file__).parent / ".peer-venv"
WORKER = Path(__file__).parent / "peer_worker.py"
PATIENCE = 600
"""Seconds that an installation may take."""


class NoPeerError(Exception):
    """Why there is none, in one sentence."""


def installed() -> Path:
    """The Python that has the peer, after installing it if need be."""
    python = HOME / "bin" / "python"
    done = HOME / f".{PACKAGE}"
    if done.exists():
        return python
    for step in (
        [sys.executable, "-m", "venv", "--clear", str(HOME)],
        [str(python), "-m", "pip", "install", "--quiet", PACKAGE],
    ):
        try:
            subprocess.run(step, capture_output=True, text=True, check=True, timeout=PATIENCE)
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip() or "no message").splitlines()[-1]
            raise NoPeerError(f"{PACKAGE} could not be installed ({last}).") from None
        except (subprocess.TimeoutExpired, OSError) as error:
            raise NoPeerError(f"{PACKAGE} could not be installed ({error}).") from None
    done.touch()
    return python


class Peer:
    """A running peer; one agent at a time, in the world of the last `meet`."""

    def __init__(self) -> None:
        python = installed()
        self._folder = tempfile.TemporaryDirectory()  # it may leave files where it runs
        self._process = subprocess.Popen(
            [str(python), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._folder.name,
        )
        self.version: str = self._ask({"version": True})["version"]

    def meet(self, world: bl.MDP) -> None:
        """Begin anew in a homogeneous world, and play an episode that is not timed."""
        self._ask(
            {
                "transitions": world.transition_table()[0].tolist(),
                "rewards": world.reward_table()[0].tolist(),
                "horizon": world.shape.horizon,
            }
        )

    def play(self, episodes: int) -> float:
        """Play so many episodes more; returns microseconds per episode."""
        return 1e6 * float(self._ask({"episodes": episodes})["seconds"]) / episodes

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise NoPeerError(f"{PACKAGE} is installed but does not run.") from None
        return answer
