"""Tests are divided among processes where pytest-xdist is missing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def collected(*options: str) -> list[str]:
    """Return the ids of the tests of one file that pytest would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *options, "tests/test_version.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_test_is_in_one_shard() -> None:
    shards = [collected("--shard", f"{i}/2") for i in (1, 2)]
    assert all(shards)
    assert sorted(shards[0] + shards[1]) == sorted(collected())
