"""Copy of a ledger in another database, compared with the original."""

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
"""Suffixes of files whose content SQLite would apply to a database of that name."""


@dataclass(frozen=True)
class LedgerCopy:
    """Content of a copy."""

    rows: dict[str, int]
    """Number of rows by table."""
    digest: str
    """Digest of all events."""
    faults: list[str]
    """Faults of the copy, which are those of the original."""


def copy_to(source: ExistingLedger, url: str) -> LedgerCopy:
    """Copy the ledger `source` to the address `url`, and return what was copied.

    `url` is a new SQLite file, or a PostgreSQL database without a ledger.
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
        # Otherwise the last rows stay in a journal, which is not moved with the file.
        if not target.store.scrub(wait=True):
            raise RuntimeError(f"{file} could not be completed.")
        return result


def copy_and_check(source: ExistingLedger, target: ExistingLedger) -> LedgerCopy:
    """Copy all rows of `source` to `target`, check every event, and return what was copied."""
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
