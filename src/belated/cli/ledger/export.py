"""Export of a ledger's events to a file, as lines of JSON or as Parquet."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from belated.cli.ledger.existing_ledger import ExistingLedger
from belated.cli.support.output_files import new_file
from belated.ledger import schema
from belated.ledger.events import Event
from belated.progress import Progress
from belated.service.export import COLUMNS, event_line, write_parquet


def export_events(ledger: ExistingLedger, path: Path, *, problem: int | None, parquet: bool) -> int:
    """Write the events of a ledger to a new file, and return their number.

    Parameters
    ----------
    ledger : ExistingLedger
        Ledger to export.
    path : Path
        New file.
    problem : int or None
        Id of the problem to export; None for all problems.
    parquet : bool
        Whether to write Parquet instead of lines of JSON.

    Returns
    -------
    int
        Number of events written.
    """
    total = ledger.count_rows(schema.events, problem)
    with new_file(path) as part, Progress("Exporting", total=total, unit="rows") as progress:
        ledger.progress = progress
        lines = part.with_suffix(".ndjson") if parquet else part
        longest = write_lines(lines, ledger.events(problem), ledger.names())
        if parquet:
            write_parquet(lines, part, longest, columns={"problem": "VARCHAR", **COLUMNS})
        return progress.done


def write_lines(path: Path, events: Iterable[Event], names: Mapping[int, str]) -> int:
    """Write one line of JSON for each event.

    Parameters
    ----------
    path : Path
        File to write. Only its owner can read it.
    events : iterable of Event
        Events to write.
    names : mapping
        Map from the id of each problem to its name.

    Returns
    -------
    int
        Length of the longest line in bytes.
    """
    longest = 0
    with open(path, "wb", opener=lambda file, flags: os.open(file, flags, 0o600)) as out:
        for event in events:
            # The name of a problem contains nothing that JSON would escape.
            text = f'{{"problem": "{names[event.problem]}", {event_line(event)[1:]}'.encode()
            longest = max(longest, len(text))
            out.write(text)
    return longest
