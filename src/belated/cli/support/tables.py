"""Tables, printed at full width on a terminal, in a pipe or in a log file."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

MAX_TABLE_CHARS = 10_000
"""Width, in characters, of the imaginary console on which the width of a table is measured. It is
larger than the width of any table, so that no cell is wrapped."""


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

    Console(width=full_width(table)).print(table)


def print_fitting(tables: "Sequence[Table]") -> None:
    """Print the first of `tables` that fits the width of the terminal, or the last if none does.

    If the output is not a terminal and the environment variable COLUMNS is not set, the first table
    is printed.
    """
    from rich.console import Console

    console = Console()
    unlimited = not console.is_terminal and "COLUMNS" not in os.environ
    fitting = (table for table in tables if unlimited or full_width(table) <= console.width)
    print_table(next(fitting, tables[-1]))


def full_width(table: "Table") -> int:
    """Return the width of `table` in characters if no cell is wrapped."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=MAX_TABLE_CHARS)
    return Measurement.get(wide, wide.options, table).maximum
