"""The way of data through the package stays short: files and functions that a reader must know."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COUNTS = {
    "episode": {"files": 28, "functions": 181},
    "answered": {"files": 17, "functions": 91},
    "served": {"files": 47, "functions": 265},
}
"""Counts when this was last looked at; see `walk.py`. Lower them when the way gets shorter."""
MAX_GROWTH = 1.1


@pytest.fixture(scope="module")
def counts() -> dict[str, dict[str, int]]:
    """Return the present counts, from a process in which nothing is compiled."""
    script = Path(__file__).with_name("walk.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("way", COUNTS)
def test_a_way_is_not_more_than_a_tenth_longer(way: str, counts: dict[str, dict[str, int]]) -> None:
    for name, count in COUNTS[way].items():
        found = counts[way][name]
        assert found <= MAX_GROWTH * count, f"{found} {name}: python tests/walk.py --files"
