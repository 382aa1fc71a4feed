"""Work of `belated ledger` on an existing ledger: verification, copies and exports, with progress.

The commands import this module when they run, because it imports SQLAlchemy.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from belated.cli.support.output import new_file
from belated.cli.support.stores import check_file, sqlite_url
from belated.ledger import migrations, schema
from belated.ledger.audit import TABLES, check_tables, copy
from belated.ledger.events import Event
from belated.ledger.ledger import Ledger
from belated.ledger.store import Store, parse_url
from belated.online.verify import Verdict, verify
from belated.progress import Progress

JOURNAL_SUFFIXES: Final = ("-wal", "-journal")
"""Suffixes of the names of journal files. SQLite would apply a journal file to a new database of
the same name."""


class ExistingLedger(Ledger):
    """Ledger that advances the progress bar `progress` by one for each event that is read.

    If `progress` is None, nothing is displayed. Progress is not advanced if only some kinds of
    events are read.
    """

    progress: Progress | None = None

    def events(self, *arguments: Any, **keywords: Any) -> Iterator[Event]:
        found = super().events(*arguments, **keywords)
        if self.progress is None or keywords.get("kinds") is not None:
            return found
        return self.progress.track(found)

    def names(self) -> dict[int, str]:
        """Return a dict from the id of each problem to its name.

        Problems whose events cannot be processed are included.
        """
        of = schema.problems.c
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(of.id, of.name).order_by(of.id)).all()
        return {row.id: row.name for row in rows}

    def count_rows(self, table: sa.Table, problem: int | None = None) -> int:
        """Return the number of rows of `table` that belong to the problem with the id `problem`.

        If `problem` is None, count all rows.
        """
        query = sa.select(sa.func.count()).select_from(table)
        if problem is not None:
            query = query.where(table.c.problem == problem)
        with self.store.reading() as connection:
            return connection.scalar(query) or 0


def open_existing_ledger(url: str) -> ExistingLedger:
    """Return the ledger at the database address `url`. Raise ValueError if there is no ledger."""
    check_file(url)
    address = parse_url(url)
    store = Store.open(url)
    try:
        with store.reading() as connection:
            if migrations.current(connection) is None:
                raise ValueError(f"{address} has no ledger; check the address.")
    finally:
        store.close()
    return ExistingLedger.open(url)


class Verification(NamedTuple):
    """Result of the verification of a ledger."""

    digest: str  # of all events that were read; "unknown" if an event cannot be read
    faults: list[str]  # messages about faults of the ledger as a whole
    verdicts: list[Verdict]  # on each problem, without the faults of the ledger as a whole


def verify_ledger(ledger: ExistingLedger, *, problem: int | None) -> Verification:
    """Verify `ledger`, or only the problem with the id `problem`, and return the result.

    The stored results of each problem are recomputed from its events and compared. If `problem` is
    None, all problems and the ledger as a whole are verified. A problem whose events cannot be read
    has a fault that states this. Database errors are raised.
    """
    passes = 3 if problem is None else 2
    total = passes * ledger.count_rows(schema.events, problem)
    with Progress("Verifying", total=total, unit="rows") as ledger.progress:
        faults = ledger.faults() if problem is None else check_tables(ledger.store, problem)
        digest = ledger.digest(problem)
        verdicts = []
        for id, name in ledger.names().items():
            if problem not in (None, id):
                continue
            try:
                found = ledger.problem(id)
                missing = ["The event that defines the problem is missing."]
                verdict = verify(ledger, found) if found else Verdict(name, faults=missing)
            except SQLAlchemyError:
                raise
            except Exception as error:
                fault = f"Events cannot be read: {type(error).__name__}: {error}"
                verdict = Verdict(name, faults=[fault])
            verdict.faults = [fault for fault in verdict.faults if fault not in faults]
            verdicts.append(verdict)
    return Verification(digest, faults, verdicts)


class LedgerCopy(NamedTuple):
    """Summary of a copy of a ledger."""

    rows: dict[str, int]  # number of rows of each table
    digest: str  # digest of all events of the copy
    faults: list[str]  # messages about faults of the copy, which the original has too


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
    total = sum(map(source.count_rows, TABLES)) + 2 * source.count_rows(schema.events)
    with Progress("Copying", total=total, unit="rows") as progress:

        @sa.event.listens_for(target.store.writer, "after_cursor_execute")
        def count_inserts(*arguments: Any) -> None:
            context: Any = arguments[4]
            if context is not None and context.isinsert:
                progress.advance(len(context.compiled_parameters))

        rows = copy(source, target)
        target.progress = progress
        return LedgerCopy(rows, target.digest(), target.faults())


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
    from belated.ledger.export import COLUMNS, event_line, write_parquet

    names = ledger.names()
    total = ledger.count_rows(schema.events, problem)
    longest = 0  # line, in bytes
    with new_file(path) as part, Progress("Exporting", total=total, unit="rows") as progress:
        ledger.progress = progress
        lines = part.with_suffix(".ndjson") if parquet else part
        with lines.open("wb") as out:
            for event in ledger.events(problem):
                # The name of a problem contains nothing that JSON would escape.
                text = f'{{"problem": "{names[event.problem]}", {event_line(event)[1:]}'
                longest = max(longest, out.write(text.encode()))
        if parquet:
            write_parquet(lines, part, longest, columns={"problem": "VARCHAR", **COLUMNS})
        return progress.done
