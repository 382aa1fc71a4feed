"""Exports of a ledger: its events in a file, as lines of JSON or as Parquet."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from belated.cli.count import Count
from belated.cli.fresh import fresh
from belated.cli.watched import Watched
from belated.online import schema
from belated.online.events import Event
from belated.service.export import COLUMNS, event_line, write_parquet


def export(ledger: Watched, path: Path, *, problem: int | None, parquet: bool) -> int:
    """Write the events of a problem, or of all, to a new file; returns how many."""
    names = ledger.names()
    with fresh(path) as part, Count("Exporting", ledger.size(schema.events, problem)) as count:
        ledger.count = count
        lines = part.with_suffix(".ndjson") if parquet else part
        longest = write_lines(lines, ledger.events(problem), names)
        if parquet:
            write_parquet(lines, part, longest, columns={"problem": "VARCHAR", **COLUMNS})
        return count.done


def write_lines(path: Path, events: Iterable[Event], names: Mapping[int, str]) -> int:
    """An event on each line, as the service tells of it and with its problem; returns the
    longest line's length."""
    longest = 0
    with open(path, "wb", opener=private) as out:
        for event in events:
            # a name holds nothing that JSON would escape
            text = f'{{"problem": "{names[event.problem]}", {event_line(event)[1:]}'.encode()
            longest = max(longest, len(text))
            out.write(text)
    return longest


def private(path: str, flags: int) -> int:
    """Open a file for its owner alone."""
    return os.open(path, flags, 0o600)
