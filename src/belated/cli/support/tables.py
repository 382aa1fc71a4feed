"""Tables on a terminal, in a pipe or in a log: nothing in them is ever cut off."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 10_000
"""Wider than any table."""


def numbers(first: str, titles: Sequence[str]) -> "Table":
    """An empty table: a column of names and columns of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(first)
    for title in titles:
        table.add_column(title, justify="right")
    return table


def show(table: "Table") -> None:
    """Print a table as wide as it is, whatever the width of the terminal."""
    from rich.console import Console
    from rich.measure import Measurement

    free = Console(width=WIDE)
    Console(width=Measurement.get(free, free.options, table).maximum).print(table)
