"""Exports: the events of a problem, as lines of JSON or as Parquet."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from belated.online.events import Event
from belated.online.ledger import Ledger

PIECE: Final = 500
"""How many events to write at a time."""

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


def write_parquet(ledger: Ledger, problem: int, folder: Path) -> Path:
    """All events of a problem in a file in this folder."""
    import duckdb

    lines, file = folder / "events.ndjson", folder / "events.parquet"
    events = ledger.events(problem)
    with lines.open("wb") as out:
        while some := piece(events):
            out.write(some)
    with duckdb.connect() as connection:
        # neither takes parameters; these are no caller's words
        connection.execute(
            f"COPY (SELECT * FROM read_json('{lines}', format = 'newline_delimited', "
            f"columns = {COLUMNS}, maximum_object_size = 100000000) ORDER BY seq) "
            f"TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
        )
    lines.unlink()
    return file
