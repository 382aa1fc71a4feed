"""Exports: the events of a problem, as lines of JSON or as Parquet."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO, Final

from belated.ledger.events import Event
from belated.ledger.ledger import Ledger

PIECE: Final = 500
"""How many events to write at a time."""

LONGEST: Final = 1 << 24
"""The longest line that DuckDB makes room for unless it is told otherwise, in bytes."""

COLUMNS: Final = {
    "seq": "BIGINT",
    "episode": "VARCHAR",
    "kind": "VARCHAR",
    "at": "BIGINT",
    "event_time": "BIGINT",
    "body": "JSON",
    "sha": "VARCHAR",
    "redacted": "BOOLEAN",
}


def line(event: Event) -> str:
    """One event; its body is JSON already."""
    head = {
        "seq": event.seq,
        "episode": event.episode,
        "kind": event.kind,
        "at": event.at,
        "event_time": event.event_time,
    }
    tail = {"sha": event.sha, "redacted": bool(event.redacted)}
    return f'{json.dumps(head)[:-1]}, "body": {event.text or "null"}, {json.dumps(tail)[1:]}\n'


def piece(events: Iterator[Event]) -> bytes:
    """The next lines; none at the end."""
    return "".join(line(event) for event in islice(events, PIECE)).encode()


def parquet_of(ledger: Ledger, problem: int) -> BinaryIO:
    """All events of a problem, in a file without a name: it is gone once it is closed."""
    with (
        TemporaryDirectory(prefix="belated-") as folder,  # for its owner alone
        ExitStack() as undo,
    ):
        lines, made = Path(folder, "events.ndjson"), Path(folder, "events.parquet")
        longest = 0
        with lines.open("wb") as out:
            for event in ledger.events(problem):
                longest = max(longest, out.write(line(event).encode()))
        write_parquet(lines, made, longest)
        whole = undo.enter_context(TemporaryFile())
        with made.open("rb") as found:
            shutil.copyfileobj(found, whole)
        whole.seek(0)
        undo.pop_all()
    return whole


def write_parquet(
    lines: Path, path: Path, longest: int, *, columns: Mapping[str, str] = COLUMNS
) -> None:
    """The same rows in the same order; `longest` is the length of the longest line."""
    import duckdb

    # what does not fit into memory goes beside the file, and not to where the process runs
    with duckdb.connect(config={"temp_directory": str(path.parent)}) as connection:
        # neither takes parameters
        connection.execute(
            f"COPY (SELECT * FROM read_json('{pattern(lines)}', format = 'newline_delimited', "
            f"columns = {dict(columns)}, maximum_object_size = {max(LONGEST, longest + 1)})) "
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
