"""belated-client in an environment of its own, and a service that is restarted."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from installations import built, create_environment, find_python, needs_dist, public_folder

PROBLEM = {
    "name": "shop",
    "states": ["looks", "buys"],
    "actions": ["nothing", "coupon"],
    "horizon": 2,
    "rewards": [[0, 0], [1, 0.8]],
    "episodes": 1000,
    "base": {"name": "ucrl2", "options": {"scale": 0.1}},
}
SCRIPT = f"""
import logging, sys
from belated_client import Client
logging.basicConfig(stream=sys.stdout, format="%(message)s")
client = Client(sys.argv[1])
client.define({PROBLEM!r})
episode = client.open_episode("shop", "customer-1")
actions = [episode.act(step, "looks") for step in range(2)]
print("opened", flush=True)
sys.stdin.readline()
print(client.feedback(episode, ["looks", "looks", "buys"], actions), flush=True)
print(client.feedback(episode, ["looks", "looks", "buys"], actions), flush=True)
assert not {{"belated", "numpy", "numba"}} & set(sys.modules)
"""

pytestmark = needs_dist


@pytest.fixture(scope="module")
def python() -> Iterator[Path]:
    """Python of an environment that contains only belated-client; the oldest one there is."""
    with public_folder() as root:
        found = find_python("3.9", "3.10", "3.11") or sys.executable
        yield create_environment(root / "client", found, str(built("belated_client-*.whl")))


@contextmanager
def service(folder: Path, port: int = 0) -> Iterator[int]:
    """Run `belated serve` with a store in `folder`; yield its port once it accepts connections."""
    command = [sys.executable, "-m", "belated", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stdout)
        yield int(next(match[1] for match in found if match))
    finally:
        process.terminate()
        process.communicate()


def test_the_client_works_through_a_restart_of_the_service(python: Path, tmp_path: Path) -> None:
    with service(tmp_path) as port:
        client = subprocess.Popen(
            [python, "-I", "-c", SCRIPT, f"http://127.0.0.1:{port}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stdout.readline() == "opened\n"
    client.stdin.write("\n")
    client.stdin.flush()
    assert "cannot be reached" in client.stdout.readline()
    with service(tmp_path, port):
        assert client.communicate()[0].splitlines() == ["recorded", "already recorded"]
    assert client.returncode == 0
