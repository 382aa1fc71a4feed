"""Copying of a ledger to another database, and comparison with the original."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from belated.cli.ledger.existing_ledger import ExistingLedger
from belated.cli.support.output_files import new_file
from belated.cli.support.stores import sqlite_url
from belated.ledger import schema
from belated.ledger.copy import copy
from belated.ledger.store import parse_url
from belated.progress import Progress

JOURNAL_SUFFIXES: Final = ("-wal", "-journal")
"""Suffixes of the names of journal files. SQLite would apply a journal file to a new database of
the same name."""


@dataclass(frozen=True)
class LedgerCopy:
    """Summary of a copy of a ledger: numbers of rows, digest of the events, and faults."""

    rows: dict[str, int]
    """Map from the name of each table to its number of rows."""
    digest: str
    """Digest of all events of the copy."""
    faults: list[str]
    """Messages about faults of the events and tables of the copy. They are faults of the original
    too, because the copy has the same rows."""


def copy_to(source: ExistingLedger, url: str) -> LedgerCopy:
    """Copy the ledger `source` to the database address `url`, and return a summary of the copy.

    `url` is the address of a new SQLite file, or of a PostgreSQL database without a ledger.
    """
    address = parse_url(url)
    if address.get_backend_name() == "postgresql":
        with ExistingLedger.open(url) as target:
            return copy_and_check(source, target)
    file = address.database
    if address.query or file in (None, "", ":memory:"):
        raise ValueError(
            f"{address} must be the address of a plain file, such as sqlite:///belated.db."
        )
    with (
        new_file(Path(str(file)), companions=JOURNAL_SUFFIXES) as part,
        ExistingLedger.open(sqlite_url(part)) as target,
    ):
        result = copy_and_check(source, target)
        # Without this, the last rows would stay in a journal, which is not moved with the file.
        if not target.store.scrub(wait=True):
            raise RuntimeError(
                f"{file} was not created: the last rows could not be moved from the write-ahead "
                "log into the file. Try again."
            )
        return result


def copy_and_check(source: ExistingLedger, target: ExistingLedger) -> LedgerCopy:
    """Copy all rows of `source` to `target`, and check every event of the copy.

    Return a summary of the copy.
    """
    tables = schema.metadata.sorted_tables
    total = sum(map(source.count_rows, tables)) + 2 * source.count_rows(schema.events)
    with Progress("Copying", total=total, unit="rows") as progress:

        @sa.event.listens_for(target.store.writer, "after_cursor_execute")
        def count_inserts(
            connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool
        ) -> None:
            if context is not None and context.isinsert:
                progress.advance(len(context.compiled_parameters))

        rows = copy(source, target)
        target.progress = progress
        return LedgerCopy(rows, target.digest(), target.faults())
