"""How long and how much: contestants take turns, and the median of several turns counts."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent

Turn = Callable[[], float]
"""One turn of a contestant; returns microseconds per episode."""


class Turns:
    """What each contestant needed in each turn, in microseconds per episode."""

    def __init__(self, contestants: Mapping[str, Turn], repeats: int) -> None:
        for turn in contestants.values():
            turn()  # compiles, loads, fills caches
        self.taken: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(repeats):
            for name, turn in contestants.items():
                self.taken[name].append(turn())

    def __contains__(self, name: str) -> bool:
        return name in self.taken

    def __getitem__(self, name: str) -> float:
        return median(self.taken[name])

    def ratios(self, slow: str, fast: str) -> list[float]:
        """How many times longer `slow` took than `fast` in each turn, the least first."""
        pairs = zip(self.taken[slow], self.taken[fast], strict=True)
        return sorted(a / b for a, b in pairs)

    def ratio(self, slow: str, fast: str) -> float:
        """The median of the ratios."""
        return median(self.ratios(slow, fast))


def turn(run: Callable[[], object], episodes: int, *, least: float = 0.05) -> Turn:
    """A turn that calls `run`, of so many episodes, again and again for `least` seconds."""

    def timed() -> float:
        runs = 0
        began = time.perf_counter()
        while (taken := time.perf_counter() - began) < least:
            run()
            runs += 1
        return 1e6 * taken / (runs * episodes)

    return timed


def alone(task: str, *arguments: object) -> dict[str, Any]:
    """What a task of alone.py reports from a process of its own."""
    command = [sys.executable, str(HERE / "alone.py"), task, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def memory(process: int | str = "self") -> dict[str, float]:
    """Memory of a process in MB, now and at its peak; nothing where there is no /proc."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    # The peak that getrusage knows begins with that of the parent process; this one does not.
    fields = dict(line.split(":", 1) for line in lines)
    return {
        name: int(fields[field].split()[0]) / 1024
        for name, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }
