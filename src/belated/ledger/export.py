"""Export of the events of a ledger as NDJSON or Parquet."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from belated.ledger.events import Event
from belated.ledger.ledger import Ledger

DUCKDB_MAX_LINE_BYTES: Final = 1 << 24
"""DuckDB's default limit on the length of a line of JSON, in bytes."""

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
"""Map from the name of each column of an exported Parquet file to its DuckDB type."""


def event_line(event: Event) -> str:
    """Return `event` as a line of JSON. The stored text of the body is copied unchanged."""
    head = {
        "seq": event.seq,
        "episode": event.episode,
        "kind": event.kind,
        "at": event.at,
        "event_time": event.event_time,
    }
    tail = {"sha": event.sha, "redacted": bool(event.redacted)}
    return f'{json.dumps(head)[:-1]}, "body": {event.text or "null"}, {json.dumps(tail)[1:]}\n'


def build_parquet(ledger: Ledger, problem: int) -> BinaryIO:
    """Export the events of the problem with id `problem` in `ledger`; return a Parquet file.

    The returned file is open, and positioned at its start. Its folder has been removed, so
    that it exists until it is closed.
    """
    # readable by its owner only; on Windows, the open file stays
    with TemporaryDirectory(prefix="belated-", ignore_cleanup_errors=True) as folder:
        ndjson, parquet = Path(folder, "events.ndjson"), Path(folder, "events.parquet")
        max_line_bytes = 0
        with ndjson.open("wb") as out:
            for event in ledger.events(problem):
                max_line_bytes = max(max_line_bytes, out.write(event_line(event).encode()))
        write_parquet(ndjson, parquet, max_line_bytes)
        return parquet.open("rb")


def write_parquet(
    lines: Path, path: Path, max_line_bytes: int, *, columns: Mapping[str, str] = COLUMNS
) -> None:
    """Convert a file of JSON lines to a Parquet file with the rows in the same order.

    Parameters
    ----------
    lines : Path
        File of JSON lines to read.
    path : Path
        Parquet file to write.
    max_line_bytes : int
        Length of the longest line, in bytes.
    columns : Mapping[str, str]
        Map from the name of each column to its DuckDB type.
    """
    import duckdb

    # DuckDB writes its temporary files beside `path` instead of into the current directory.
    with duckdb.connect(config={"temp_directory": str(path.parent)}) as connection:
        rows = connection.read_json(
            re.sub(r"([*?[])", r"[\1]", str(lines)),  # the path is a glob pattern
            format="newline_delimited",
            columns=dict(columns),
            maximum_object_size=max(DUCKDB_MAX_LINE_BYTES, max_line_bytes + 1),
        )
        rows.write_parquet(str(path), compression="zstd")
