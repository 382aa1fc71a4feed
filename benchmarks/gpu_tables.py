"""Tables of the measurements of the GPU engine in docs/performance.md."""

import json
import platform
import subprocess
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from report import Report, Section, format_markdown, write_page

RESULTS = Path("out") / "gpu" / "results.json"
"""File with all measurements so far, by name."""


def record(name: str, value: Any) -> None:
    """Store the measurement `value` under `name`, with the machine and the versions."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found[name] = value
    found["machine"] = machine()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1))


def machine() -> str:
    """Return the date, the GPU, and the versions that the measurements depend on."""
    query = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0")
    try:
        gpu = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        gpu = "simulated GPU"
    name, _, driver = gpu.partition(", ")
    packages = ", ".join(f"{one} {version(one)}" for one in ("numba", "numba-cuda", "numpy"))
    now = datetime.now()
    return (
        f"{now.day} {now:%B %Y}, {name}, driver {driver or 'none'}, "
        f"Python {platform.python_version()}, {packages}."
    )


def millions(rate: float) -> str:
    """Return `rate` in millions, with three significant digits."""
    return f"{rate / 1e6:.3g}"


def speed_section(found: dict[str, Any]) -> Section:
    """Return the table of episodes per second by number of states and learner."""
    cores = found["cores"]
    rows = [
        (
            *(str(S), updater, f"{plans:.3f}", millions(gpu), millions(one), millions(every)),
            *(f"{gpu / one:,.0f} ×", f"{gpu / every:.1f} ×"),
        )
        for S, updater, plans, gpu, one, every, _ in found["rows"]
    ]
    columns = ("S = H", "learner", "plans per episode", "GPU", "one core", f"{cores} cores")
    ratios = ("GPU / one core", f"GPU / {cores} cores")
    note = (
        "Million episodes per second, geometric delay with mean 300. "
        f"The GPU plays {found['seeds']:,} runs of {found['K']:,} episodes at once; a core plays "
        "such runs one after another, alone or while all other cores do the same. Each number is "
        "one measurement of half a second or more on the cores, and of one batch on the GPU."
    )
    return Section("GPU, one core and all cores", (*columns, *ratios), rows, note)


def latency_section(found: dict[str, Any]) -> Section:
    """Return the table of the time per episode of a run."""
    rows = [
        (updater, f"{runs:,}", f"{1e6 * per_episode:.1f}", millions(rate))
        for updater, runs, per_episode, rate in found["rows"]
    ]
    columns = ("learner", "runs", "µs per episode of a run", "million episodes per second")
    note = (
        f"Chain 30, constant delay of 100 episodes, {found['K']:,} episodes: both learners compute "
        "a plan in each episode."
    )
    return Section("Time of an episode", columns, rows, note)


def paper_section(found: dict[str, Any]) -> Section:
    """Return the table of the whole paper."""
    rows = []
    for part, title in (("figures", "figures of the paper"), ("all", "explicit on both chains")):
        if numbers := found.get(f"paper {part}"):
            took, watts = numbers["took_s"], numbers["watts"]
            energy = ("-", "-")
            if watts is not None:
                energy = (f"{watts:.0f}", f"{watts * took / 3600:.2f}")
            rows.append(
                (
                    *(title, f"{numbers['runs']:,}", f"{numbers['episodes'] / 1e6:.0f}"),
                    *(f"{took:.1f}", f"{numbers['whole_s']:.1f}"),
                    *(millions(numbers["episodes"] / took), *energy),
                )
            )
    columns = ("runs of", "runs", "million episodes", "s", "s with preparation")
    more = ("million episodes per second", "mean W", "Wh")
    return Section("The whole paper", (*columns, *more), rows)


def write_tables(page: Path) -> None:
    """Replace the tables of `page` by those of `RESULTS`."""
    found = json.loads(RESULTS.read_text())
    sections = {"speed": speed_section, "latency": latency_section}
    report = Report([make(found[name]) for name, make in sections.items() if name in found])
    if "paper all" in found:
        report.sections.append(paper_section(found))
    write_page(page, format_markdown(report, found["machine"]), mark="gpu")
