"""Tables on a terminal, in a pipe or in a log, printed at full width."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

MAX_TABLE_CHARS = 10_000
"""Upper limit of a table's width in characters, larger than any table."""


def build_table(texts: Sequence[str], numbers: Sequence[str] = ()) -> "Table":
    """Return an empty table with left-aligned columns `texts`, then right-aligned `numbers`."""
    from rich import box
    from rich.table import Table

    table = Table(*texts, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in numbers:
        table.add_column(title, justify="right")
    return table


def print_table(table: "Table") -> None:
    """Print `table` without truncating it, whatever the width of the terminal."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=MAX_TABLE_CHARS)
    Console(width=Measurement.get(wide, wide.options, table).maximum).print(table)
