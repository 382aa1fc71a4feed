"""Report of a benchmark: tables of measurements, and performance targets that are met or not."""

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

import numba
import numpy
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import belated

PLAIN_WIDTH_CHARS = 160
"""Width of output that does not go to a terminal."""


@dataclass(frozen=True)
class Section:
    """Table of measurements with a title and a note."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]  # formatted cells
    note: str = ""  # Markdown shown above the table


@dataclass(frozen=True)
class Target:
    """Performance target, and the measurement that it is compared with."""

    text: str
    measured: str  # formatted, with unit
    met: bool
    reason: str = ""  # why it may not be met, shown if it is not


@dataclass
class Report:
    """All sections and targets measured so far."""

    sections: list[Section] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def target_section(self) -> Section:
        """Return the targets as a section."""
        rows = [("ok" if t.met else "not ok", t.text, t.measured) for t in self.targets]
        reasons = dict.fromkeys(t.reason for t in self.targets if t.reason and not t.met)
        return Section("Targets", ("", "target", "measured"), rows, "\n\n".join(reasons))


def format_number(value: float) -> str:
    """Return `value` with three significant digits, or with commas from 100 on.

    >>> format_number(0.4567), format_number(15796.5)
    ('0.457', '15,797')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def format_ratio(value: float) -> str:
    """Return the ratio `value` with a multiplication sign."""
    return f"{format_number(value)} ×"


def format_ratios(ratios: Sequence[float]) -> str:
    """Return the median, the smallest and the largest of `ratios`."""
    limits = f"{format_number(min(ratios))} to {format_number(max(ratios))}"
    return f"{format_ratio(median(ratios))} ({limits})"


def print_report(report: Report, heading: str) -> None:
    """Print `report` under a `heading`: one table, without borders if not to a terminal."""
    console = Console(emoji=False)
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH_CHARS, emoji=False)
    borders = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(title=escape(heading), box=borders, show_header=False, title_justify="left")
    for _ in range(max(len(section.columns) for section in report.sections)):
        table.add_column(overflow="fold")
    for section in report.sections:
        table.add_row(f"[bold]{escape(section.title)}[/bold]")
        table.add_row(*(f"[italic]{escape(name)}[/italic]" for name in section.columns))
        for row in section.rows:
            table.add_row(*(escape(cell) for cell in row))
        table.add_section()
    console.print(table)
    for met, text, measured in report.target_section().rows:
        console.print(escape(f"{met:>6}  {text}: {measured}"), highlight=False)


def format_markdown(report: Report, heading: str) -> str:
    """Return `report` under a `heading` as Markdown."""
    parts = [heading]
    targets = [report.target_section()] if report.targets else []
    for section in (*report.sections, *targets):
        lines = [section.columns, ["---"] * len(section.columns), *section.rows]
        grid = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        note = f"{section.note}\n\n" if section.note else ""
        parts.append(f"### {section.title}\n\n{note}{grid}")
    return "\n\n".join(parts)


def write_page(page: Path, results: str, *, mark: str = "results") -> None:
    """Replace the text between the two marks of the file `page` by `results`.

    The marks are the comments `<!-- mark -->` and `<!-- /mark -->`.
    """
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    text = page.read_text()
    if text.count(start) != 1 or text.count(end) != 1:
        raise SystemExit(f"{page} must have the marks {start} and {end}, each once.")
    marked = re.compile(f"{re.escape(start)}.*{re.escape(end)}", re.DOTALL)
    page.write_text(marked.sub(lambda _: f"{start}\n\n{results}\n\n{end}", text))


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
