"""`make bench`: measure everything side by side, print one table, and put it into the docs."""

import argparse
import os
import platform
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import bases
import growth
import large
import rivals
import startup
from table import Report, markdown, show, write

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"

PARTS = {
    "a": ("rivals", rivals.measure),
    "b": ("bases", bases.measure),
    "c": ("threads", bases.measure_threads),
    "d": ("growth", growth.measure),
    "e": ("an ICU-size world", large.measure),
    "f": ("start-up", startup.measure),
}


def main() -> None:
    """Measure what was asked for; only a whole run changes the page."""
    asked = arguments()
    where = ("Quick and rough. " if asked.quick else "") + machine()
    report = Report()
    for letter in asked.only:
        name, measure = PARTS[letter]
        began = time.perf_counter()
        print(f"{letter}. {name} ...", end=" ", file=sys.stderr, flush=True)
        measure(report, quick=asked.quick, repeats=asked.repeats)
        print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    show(report, where)
    if asked.quick or set(asked.only) != set(PARTS):
        print(f"{PAGE.name} is left as it is: only a whole run writes it.", file=sys.stderr)
    else:
        write(PAGE, markdown(report, where))


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    listed = "; ".join(f"{letter}: {name}" for letter, (name, _) in PARTS.items())
    parser.add_argument("--quick", action="store_true", help="small, rough and without the peer")
    parser.add_argument("--only", default=",".join(PARTS), help=f"such as a,c ({listed})")
    parser.add_argument("--repeats", type=int, help="turns of each contestant; 5, or 3 if quick")
    asked = parser.parse_args()
    asked.only = asked.only.split(",")
    if unknown := [letter for letter in asked.only if letter not in PARTS]:
        parser.error(f"--only names {unknown[0]!r}; allowed are {', '.join(PARTS)}.")
    if asked.repeats is None:
        asked.repeats = 3 if asked.quick else 5
    if asked.repeats < 1:
        parser.error(f"--repeats is {asked.repeats}; it must be at least 1.")
    return asked


def machine() -> str:
    """Where and when, and with what, in a sentence or two."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    packages = ", ".join(f"{name} {version(name)}" for name in ("belated", "numpy", "numba"))
    return (
        f"{date.today():%d %B %Y}, {processor()}, {os.cpu_count()} cores, load {load} at the "
        f"start; Python {platform.python_version()}, {packages}."
    )


def processor() -> str:
    """The processor's name, as well as it is known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
