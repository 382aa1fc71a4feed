"""Commands of the Dockerfile and of the systemd unit, without Docker and systemd.

They run as another user without a home folder, from a package folder that is read-only, with the
variables that the files set.
"""

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from socket import create_server

import pytest

from installations import Installation, needs_dist, public_folder

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
UNIT = (ROOT / "deploy" / "belated.service").read_text()
MAX_HEALTH_CHECKS = 3000
"""Number of checks, each a new process, within which a service that compiles is ready."""

pytestmark = needs_dist


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with public_folder() as root:
        yield Installation(root, "postgres")


def variables_of_container() -> dict[str, str]:
    """Return the variables that the Dockerfile sets."""
    (line,) = re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)
    return dict(word.split("=", 1) for word in shlex.split(line))


def variables_of_unit() -> dict[str, str]:
    """Return the variables that the systemd unit sets."""
    lines = re.findall(r"^Environment=(.*)$", UNIT, re.MULTILINE)
    return dict(word.split("=", 1) for line in lines for word in shlex.split(line))


def json_words(instruction: str) -> list[str]:
    """Return the words of an `instruction` of the Dockerfile that is written as a JSON list."""
    (line,) = re.findall(rf"^{instruction}.*?(\[.*\])$", DOCKERFILE, re.MULTILINE)
    return list(json.loads(line))


def free_port() -> str:
    with create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def serve_until_healthy(
    installation: Installation, words: list[str], variables: dict[str, str], health: list[str]
) -> str:
    """Start a service, stop it when `health` succeeds, and return what it printed."""
    process = subprocess.Popen(
        installation.command(*words),
        cwd=installation.folder,
        env=installation.environment(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for _ in range(MAX_HEALTH_CHECKS):
        check = subprocess.run(
            installation.command(*health), env=installation.environment(), capture_output=True
        )
        if check.returncode == 0 or process.poll() is not None:
            break
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate()
    assert (check.returncode, process.returncode) == (0, 0), printed
    return printed


def test_the_container_starts_without_compiling_and_is_healthy(installation: Installation) -> None:
    port = free_port()
    cache = installation.give(installation.folder / "cache")
    variables = variables_of_container() | {"NUMBA_CACHE_DIR": str(cache), "BELATED_PORT": port}
    del variables["PATH"]
    (warm,) = re.findall(r"^RUN python -c '(.*)'$", DOCKERFILE, re.MULTILINE)
    assert "Compiling" in installation.run("python", "-c", warm, variables=variables)
    assert list(cache.rglob("*.nbc"))
    # The service listens to other machines only once there is a token.
    installation.run("belated", "token", "create", "--scope", "admin", variables=variables)
    health = [word.replace("8000", port) for word in json_words("HEALTHCHECK")]
    words = json_words("ENTRYPOINT") + json_words("CMD")
    printed = serve_until_healthy(installation, words, variables, health)
    assert "Compiling" not in printed
    assert (installation.folder / "belated.db").exists()


def test_the_unit_starts_and_stops(installation: Installation) -> None:
    port = free_port()
    variables = variables_of_unit() | {"BELATED_PORT": port}
    variables["NUMBA_CACHE_DIR"] = str(installation.give(installation.folder / "unit-cache"))
    (start,) = re.findall(r"^ExecStart=/opt/belated/bin/(.*)$", UNIT, re.MULTILINE)
    health = [word.replace("8000", port) for word in json_words("HEALTHCHECK")]
    words = [*shlex.split(start), "--store", "sqlite:///unit.db"]
    printed = serve_until_healthy(installation, words, variables, health)
    assert "Stopped; everything is stored in sqlite:///unit.db." in printed
