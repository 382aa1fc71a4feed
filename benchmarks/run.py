"""`make bench`: measure all parts, print one table and write it to docs/performance.md."""

import argparse
import os
import platform
import sys
import time
from datetime import date
from pathlib import Path

import numba
import numpy

import belated
from bases import measure_bases, measure_threads
from comparison import measure_implementations
from growth import measure_growth
from large import measure_large_world
from report import Report, format_markdown, print_report, write_page
from small import measure_small
from startup import measure_startup

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"

PARTS = {
    "a": ("implementations", measure_implementations),
    "s": ("a small world", measure_small),
    "b": ("bases", measure_bases),
    "c": ("threads", measure_threads),
    "d": ("growth", measure_growth),
    "e": ("an ICU-size world", measure_large_world),
    "f": ("start-up", measure_startup),
}


def main() -> None:
    """Measure the selected parts; write the page only if all are selected, without --quick."""
    arguments = parse_arguments()
    heading = ("Quick and imprecise. " if arguments.quick else "") + describe_machine()
    report = Report()
    for letter in arguments.only:
        name, measure = PARTS[letter]
        start = time.perf_counter()
        print(f"{letter}. {name} ...", end=" ", file=sys.stderr, flush=True)
        measure(report, quick=arguments.quick, repeats=arguments.repeats)
        print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    print_report(report, heading)
    if arguments.quick or set(arguments.only) != set(PARTS):
        print(f"{PAGE.name} is not changed: only a complete run writes it.", file=sys.stderr)
    else:
        write_page(PAGE, format_markdown(report, heading))


def parse_arguments() -> argparse.Namespace:
    """Return the checked arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    listed = "; ".join(f"{letter}: {name}" for letter, (name, _) in PARTS.items())
    parser.add_argument("--quick", action="store_true", help="small sizes, without the peer")
    parser.add_argument("--only", default=",".join(PARTS), help=f"such as a,c ({listed})")
    parser.add_argument("--repeats", type=int, help="number of turns; 5, or 3 with --quick")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := [letter for letter in arguments.only if letter not in PARTS]:
        parser.error(f"--only must be letters among {', '.join(PARTS)}, got {unknown[0]!r}.")
    if arguments.repeats is None:
        arguments.repeats = 3 if arguments.quick else 5
    if arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}.")
    return arguments


def describe_machine() -> str:
    """Return the date, processor, load and versions of the packages in one sentence."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    modules = (belated, numpy, numba)  # of a checkout that is not installed, too
    packages = ", ".join(f"{each.__name__} {each.__version__}" for each in modules)
    return (
        f"{date.today():%d %B %Y}, {processor_name()}, {os.cpu_count()} cores, load {load} at the "
        f"start; Python {platform.python_version()}, {packages}."
    )


def processor_name() -> str:
    """Return the name, family and model of the processor, or its architecture if unknown."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        first = ""
    fields = dict(line.split(":", 1) for line in first.splitlines() if ":" in line)
    found = {name.strip(): value.strip() for name, value in fields.items()}
    if "model name" not in found:
        return platform.processor() or platform.machine()
    numbers = f"family {found.get('cpu family', '?')}, model {found.get('model', '?')}"
    return f"{found['model name']} ({numbers})"


if __name__ == "__main__":
    main()
