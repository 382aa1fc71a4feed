"""Duration of short processes, with and without compiled code on disk."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from report import Report, Section, Target, format_number

SMALL_SIMULATION = [
    sys.executable,
    "-c",
    "import belated as bl; "
    "bl.simulate(bl.chain(5), base=bl.UCBVI_BF(), updater=bl.Active(), episodes=10)",
]
HELP = [str(Path(sys.executable).parent / "belated"), "--help"]


def measure_startup(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the duration of each process.

    Parameters
    ----------
    report : Report
        Receives section and targets.
    quick : bool
        Whether to leave out the process that compiles everything.
    repeats : int
        Number of times each process is run.
    """
    rows = []

    def add(name: str, duration_s: float, limit_s: float) -> None:
        rows.append((name, format_number(duration_s)))
        text = f"{name}, in less than {limit_s:g} s"
        measured = f"{format_number(duration_s)} s"
        report.targets.append(Target(text, measured, duration_s < limit_s))

    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            duration = run_seconds(SMALL_SIMULATION, NUMBA_CACHE_DIR=folder)
            add("first simulation, nothing compiled yet", duration, 40)
    for name, command, limit_s in (
        ("later process with a tiny simulation", SMALL_SIMULATION, 3),
        ("belated --help", HELP, 0.3),
    ):
        run_seconds(command)
        add(name, median(run_seconds(command) for _ in range(repeats)), limit_s)
    note = "Whole processes, from start to end."
    report.sections.append(Section("Start-up", ("process", "seconds"), rows, note))


def run_seconds(command: list[str], **environment: str) -> float:
    """Return the seconds that `command` runs, with additional `environment` variables."""
    start = time.perf_counter()
    subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)
    return time.perf_counter() - start
