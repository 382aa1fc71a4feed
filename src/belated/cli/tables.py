"""Tables on a terminal, in a pipe or in a log: numbers are never cut off."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 10_000
"""Wider than any table."""


def numbers(first: str, titles: Sequence[str]) -> "Table":
    """An empty table: a column of names, which may be broken, and columns of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(first, overflow="fold", vertical="bottom")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True, vertical="bottom")
    return table


def show(table: "Table") -> None:
    """Print a table as wide as the terminal, or as its numbers need; in a pipe, as it likes."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    free = Console(width=WIDE)
    needed = Measurement.get(free, free.options, table)
    wanted = max(console.width, needed.minimum) if console.is_terminal else needed.maximum
    Console(width=wanted).print(table)
