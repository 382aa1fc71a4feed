"""How long a process takes to begin, with compiled code on disk and without."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from table import Promise, Report, Section, number

TINY = [
    sys.executable,
    "-c",
    "import belated as bl; "
    "bl.simulate(bl.chain(5), base=bl.UCBVI_BF(), updater=bl.Active(), episodes=10)",
]
HELP = [str(Path(sys.executable).parent / "belated"), "--help"]


def measure(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the seconds of each."""
    rows = []

    def add(name: str, taken: float, most: float) -> None:
        rows.append((name, number(taken)))
        text = f"{name}, in less than {most:g} s"
        report.promises.append(Promise(text, f"{number(taken)} s", taken < most))

    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            add("first simulation, nothing compiled yet", seconds(TINY, NUMBA_CACHE_DIR=folder), 40)
    for name, command, most in (
        ("later process with a tiny simulation", TINY, 3),
        ("belated --help", HELP, 0.3),
    ):
        seconds(command)
        add(name, median(seconds(command) for _ in range(repeats)), most)
    note = "Whole processes, from start to end."
    report.sections.append(Section("Start-up", ("process", "seconds"), rows, note))


def seconds(command: list[str], **environment: str) -> float:
    """What a process takes from start to end."""
    began = time.perf_counter()
    subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)
    return time.perf_counter() - began
