"""UCBVI of rlberry-scool (the peer), in a virtual environment and a process of its own.

It runs in turn with the other implementations. Each request plays some episodes; the response has
their duration, measured in the other process. This file is also the program of that process, where
rlberry-scool is installed and belated is not.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import belated as bl

PACKAGE = "rlberry-scool==0.7.3"
ENVIRONMENT = Path(__file__).parent / ".peer-venv"
INSTALL_TIMEOUT_S = 600


class PeerUnavailableError(Exception):
    """The peer cannot be installed or run; the message says why."""


def install_peer() -> Path:
    """Install the peer unless that has been done, and return its Python."""
    python = ENVIRONMENT / "bin" / "python"
    marker = ENVIRONMENT / f".{PACKAGE}"
    if marker.exists():
        return python
    for step in (
        [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)],
        [str(python), "-m", "pip", "install", "--quiet", PACKAGE],
    ):
        try:
            subprocess.run(
                step, capture_output=True, text=True, check=True, timeout=INSTALL_TIMEOUT_S
            )
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip() or "no message").splitlines()[-1]
            raise PeerUnavailableError(f"{PACKAGE} could not be installed ({last}).") from None
        except (subprocess.TimeoutExpired, OSError) as error:
            raise PeerUnavailableError(f"{PACKAGE} could not be installed ({error}).") from None
    marker.touch()
    return python


class Peer:
    """Process of the peer, with one agent in the world of the last `start`."""

    def __init__(self) -> None:
        python = install_peer()
        self._folder = tempfile.TemporaryDirectory()  # the peer may write to its working directory
        self._process = subprocess.Popen(
            [str(python), __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._folder.name,
        )
        self.version: str = self._request({"version": True})["version"]

    def start(self, world: "bl.MDP") -> None:
        """Start a new agent in the homogeneous `world` and play one episode without measuring."""
        self._request(
            {
                "transitions": world.transition_table()[0].tolist(),
                "rewards": world.reward_table()[0].tolist(),
                "horizon": world.shape.horizon,
            }
        )

    def play(self, episodes: int) -> float:
        """Play further `episodes` and return the microseconds per episode."""
        return 1e6 * float(self._request({"episodes": episodes})["seconds"]) / episodes

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            response: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise PeerUnavailableError(f"{PACKAGE} is installed but does not run.") from None
        return response


def start_agent(transitions: list[Any], rewards: list[Any], horizon: int) -> Any:
    """Return an agent that replans after every episode, with counts for each stage.

    `transitions` (S, A, S), `rewards` (S, A) and `horizon` describe its world. One episode has been
    played.
    """
    import numpy as np
    from rlberry.envs.finite_mdp import FiniteMDP
    from rlberry_scool.agents.ucbvi import UCBVIAgent

    world = FiniteMDP(np.array(rewards), np.array(transitions), initial_state_distribution=0)
    agent = UCBVIAgent(world, gamma=1.0, horizon=horizon, stage_dependent=True)
    agent.set_writer(None)  # no logging, which is not to be measured
    agent._run_episode()
    return agent


def play_seconds(agent: Any, episodes: int) -> float:
    """Return the seconds in which `agent` plays `episodes`.

    This is `fit` without the plan that it computes at its end.
    """
    start = time.perf_counter()
    for _ in range(episodes):
        agent._run_episode()
    return time.perf_counter() - start


def work() -> None:
    """Answer the JSON request on each line of stdin by a line of JSON on stdout."""
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the packages goes to stderr, not between the responses
    import rlberry_scool

    agent: Any = None
    for line in sys.stdin:
        request, response = json.loads(line), {}
        if "version" in request:
            response = {"version": rlberry_scool.__version__}
        elif "episodes" in request:
            response = {"seconds": play_seconds(agent, request["episodes"])}
        else:
            agent = start_agent(**request)
        print(json.dumps(response), file=responses, flush=True)


if __name__ == "__main__":
    work()
