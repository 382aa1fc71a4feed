"""Tables, printed at full width on a terminal, in a pipe or in a log file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

MAX_TABLE_CHARS = 10_000
"""Console width for measuring tables, in characters. It exceeds the width of every table."""


def build_table(texts: Sequence[str], numbers: Sequence[str] = ()) -> "Table":
    """Return a table without rows.

    `texts` are the headings of the left-aligned columns, and `numbers` the headings of the
    right-aligned columns that follow.
    """
    from rich import box
    from rich.table import Table

    table = Table(*texts, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in numbers:
        table.add_column(title, justify="right")
    return table


def print_table(table: "Table") -> None:
    """Print `table` at its full width, even if the terminal is narrower."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=MAX_TABLE_CHARS)
    Console(width=Measurement.get(wide, wide.options, table).maximum).print(table)
