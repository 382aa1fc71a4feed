"""Measurement of time and memory.

Implementations that are compared run in turn, so that other load affects all of them; the result
is the median of several turns.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent

Measurement = Callable[[], float]
"""Function that runs an implementation and returns microseconds per episode."""


class Timings:
    """Microseconds per episode of several implementations, measured in turn.

    Parameters
    ----------
    measurements : mapping
        Measurement of each implementation, by name.
    repeats : int
        Number of turns, after one that is not recorded.
    """

    def __init__(self, measurements: Mapping[str, Measurement], repeats: int) -> None:
        for measure in measurements.values():
            measure()  # warm-up: compilation, imports, caches
        self.times: dict[str, list[float]] = {name: [] for name in measurements}
        for _ in range(repeats):
            for name, measure in measurements.items():
                self.times[name].append(measure())

    def __contains__(self, name: str) -> bool:
        return name in self.times

    def __getitem__(self, name: str) -> float:
        return median(self.times[name])

    def ratios(self, slow: str, fast: str) -> list[float]:
        """Return the time of `slow` divided by that of `fast` in each turn, in ascending order."""
        pairs = zip(self.times[slow], self.times[fast], strict=True)
        return sorted(a / b for a, b in pairs)

    def ratio(self, slow: str, fast: str) -> float:
        """Return the median of the ratios of `slow` to `fast`."""
        return median(self.ratios(slow, fast))


def measurement(run: Callable[[], object], episodes: int, *, min_s: float = 0.05) -> Measurement:
    """Return a measurement that repeats a function for some time.

    Parameters
    ----------
    run : callable
        Function to measure.
    episodes : int
        Number of episodes that one call plays.
    min_s : float
        Minimum number of seconds for which `run` is repeated.

    Returns
    -------
    Measurement
        Function that returns the microseconds per episode.
    """

    def measure() -> float:
        runs = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < min_s:
            run()
            runs += 1
        return 1e6 * elapsed / (runs * episodes)

    return measure


def run_isolated(task: str, *arguments: object) -> dict[str, Any]:
    """Return the report of a `task` of isolated.py with `arguments`, run in a new process."""
    command = [sys.executable, str(HERE / "isolated.py"), task, *map(str, arguments)]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(process.stdout)
    return report


def memory_mb(process: int | str = "self") -> dict[str, float]:
    """Return the current ("now") and the "peak" memory of a `process` in MB.

    The result is empty on systems without /proc.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    # The peak of getrusage includes that of the parent process; VmHWM does not.
    fields = dict(line.split(":", 1) for line in lines)
    return {
        name: int(fields[field].split()[0]) / 1024
        for name, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }


def cpu_seconds(pid: int, *, children: bool = False) -> float:
    """Return the CPU time that process `pid` has used, in seconds.

    With `children=True`, those of the processes that it has started are included, also if they have
    ended.
    """
    total = 0.0
    for each in [pid, *(_children(pid) if children else ())]:
        try:
            fields = _stat(each)
        except FileNotFoundError:  # it has ended
            continue
        # user and system time; then those of children that have ended
        total += sum(map(int, fields[11 : 15 if children else 13]))
    return total / os.sysconf("SC_CLK_TCK")


def parent(pid: int) -> int:
    """Return the id of the process that started process `pid`."""
    return int(_stat(pid)[1])


def _children(pid: int) -> list[int]:
    """Return the ids of the running processes that process `pid` has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/`pid`/stat after the name of the process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
