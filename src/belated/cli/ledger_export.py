"""Exports of a ledger: its events in a file, as lines of JSON or as Parquet."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from belated.cli.count import Count
from belated.cli.fresh import fresh
from belated.cli.watched import Watched
from belated.online import schema
from belated.online.events import Event
from belated.service.export import COLUMNS, line

LONGEST: Final = 1 << 24
"""The longest line that DuckDB makes room for unless it is told otherwise, in bytes."""


def export(ledger: Watched, path: Path, *, problem: int | None, parquet: bool) -> int:
    """Write the events of a problem, or of all, to a new file; returns how many."""
    names = ledger.names()
    with fresh(path) as part, Count("Exporting", ledger.size(schema.events, problem)) as count:
        ledger.count = count
        lines = part.with_suffix(".ndjson") if parquet else part
        longest = write_lines(lines, ledger.events(problem), names)
        if parquet:
            write_parquet(lines, part, longest)
        return count.done


def write_lines(path: Path, events: Iterable[Event], names: Mapping[int, str]) -> int:
    """An event on each line, as the service tells of it and with its problem; returns the
    longest line's length."""
    longest = 0
    with open(path, "wb", opener=private) as out:
        for event in events:
            # a name holds nothing that JSON would escape
            text = f'{{"problem": "{names[event.problem]}", {line(event)[1:]}'.encode()
            longest = max(longest, len(text))
            out.write(text)
    return longest


def write_parquet(lines: Path, path: Path, longest: int) -> None:
    """The same rows in the same order."""
    import duckdb

    columns = {"problem": "VARCHAR", **COLUMNS}
    with duckdb.connect(config={"temp_directory": str(path.parent)}) as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_json('{pattern(lines)}', format = 'newline_delimited', "
            f"columns = {columns}, maximum_object_size = {max(LONGEST, longest + 1)})) "
            f"TO '{quoted(str(path))}' (FORMAT parquet, COMPRESSION zstd)"
        )


def quoted(text: str) -> str:
    """A text within quotes in SQL.

    >>> quoted("Ann's")
    "Ann''s"
    """
    return text.replace("'", "''")


def pattern(path: Path) -> str:
    """The pattern that matches this path alone.

    >>> pattern(Path("may*.ndjson"))
    'may[*].ndjson'
    """
    return quoted(re.sub(r"([*?[])", r"[\1]", str(path)))


def private(path: str, flags: int) -> int:
    """Open a file for its owner alone."""
    return os.open(path, flags, 0o600)
