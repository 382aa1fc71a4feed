"""What a benchmark leaves: sections of figures, and promises kept or not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

OPEN, CLOSE = "<!-- results -->", "<!-- /results -->"
WIDE = 160
"""Columns of plain output, which no terminal limits."""


@dataclass(frozen=True)
class Section:
    """Figures with something in common."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Promise:
    """What should hold, and what was measured."""

    text: str
    measured: str
    kept: bool


@dataclass
class Report:
    """Everything measured so far."""

    sections: list[Section] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)

    def verdicts(self) -> Section:
        """The promises as a section."""
        rows = [("ok" if p.kept else "not ok", p.text, p.measured) for p in self.promises]
        return Section("Promises", ("", "promise", "measured"), rows)


def number(value: float) -> str:
    """Three digits, and commas.

    >>> number(0.4567), number(15796.5)
    ('0.457', '15,797')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(value: float) -> str:
    """A ratio."""
    return f"{number(value)} ×"


def spread(ratios: Sequence[float]) -> str:
    """The median of some ratios, and how far apart they lie."""
    return f"{times(median(ratios))} ({number(min(ratios))} to {number(max(ratios))})"


def show(report: Report, heading: str) -> None:
    """Print one table, plain when not to a terminal, and the promises below it."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    shape = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(title=escape(heading), box=shape, show_header=False, title_justify="left")
    for _ in range(max(len(section.columns) for section in report.sections)):
        table.add_column(overflow="fold")
    for section in report.sections:
        table.add_row(f"[bold]{escape(section.title)}[/bold]")
        table.add_row(*(f"[italic]{escape(name)}[/italic]" for name in section.columns))
        for row in section.rows:
            table.add_row(*(escape(cell) for cell in row))
        table.add_section()
    console.print(table)
    for verdict, text, measured in report.verdicts().rows:
        console.print(escape(f"{verdict:>6}  {text}: {measured}"), highlight=False)


def markdown(report: Report, heading: str) -> str:
    """The same for a page."""
    parts = [heading]
    for section in (*report.sections, report.verdicts()):
        lines = [section.columns, ["---"] * len(section.columns), *section.rows]
        grid = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        note = f"{section.note}\n\n" if section.note else ""
        parts.append(f"### {section.title}\n\n{note}{grid}")
    return "\n\n".join(parts)


def write(page: Path, results: str) -> None:
    """Put the results between the marks of a page, and leave the rest as it is."""
    text = page.read_text()
    if text.count(OPEN) != 1 or text.count(CLOSE) != 1:
        raise SystemExit(f"{page} needs the marks {OPEN} and {CLOSE}, each once.")
    between = re.compile(f"{re.escape(OPEN)}.*{re.escape(CLOSE)}", re.DOTALL)
    page.write_text(between.sub(lambda _: f"{OPEN}\n\n{results}\n\n{CLOSE}", text))
