"""A copy of a ledger in another database, compared with what it was made from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from belated.cli.count import Count
from belated.cli.fresh import fresh
from belated.cli.watched import Watched
from belated.ledger import schema
from belated.ledger.copy import copy
from belated.ledger.store import parse_url

JOURNALS = ("-wal", "-journal")
"""What SQLite would take for the last words of a file of that name, whoever wrote them."""


@dataclass(frozen=True)
class Copied:
    """What a copy holds."""

    rows: dict[str, int]
    """How many, by table."""
    digest: str
    faults: list[str]
    """What is wrong with it, as it was with the ledger."""


def copy_to(source: Watched, url: str) -> Copied:
    """Copy a ledger to a SQLite file that is not there yet, or to a PostgreSQL without a ledger."""
    address = parse_url(url)
    if address.get_backend_name() == "postgresql":
        with Watched.open(url) as target:
            return compared(source, target)
    file = address.database
    if address.query or file in (None, "", ":memory:"):
        raise ValueError(
            f"{address} is no plain file; it must be an address such as sqlite:///belated.db."
        )
    with fresh(Path(str(file)), beside=JOURNALS) as part, Watched.open(sqlite(part)) as target:
        found = compared(source, target)
        # or the last rows stay in a journal, which is left behind
        if not target.store.scrub(wait=True):
            raise RuntimeError(f"{file} could not be finished.")
        return found


def compared(source: Watched, target: Watched) -> Copied:
    """Copy, and look at every event of the copy."""
    tables = schema.metadata.sorted_tables
    total = sum(source.size(table) for table in tables) + 2 * source.size(schema.events)
    with Count("Copying", total) as count:
        count_rows(target, count)
        rows = copy(source, target)
        target.count = count
        return Copied(rows, target.digest(), target.faults())


def count_rows(target: Watched, count: Count) -> None:
    """Count the rows that are written."""

    @sa.event.listens_for(target.store.writer, "after_cursor_execute")
    def written(
        connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool
    ) -> None:
        if context is not None and context.isinsert:
            count.add(len(context.compiled_parameters))


def sqlite(path: Path) -> str:
    """The address of a SQLite file.

    >>> sqlite(Path("ledgers/may?.db"))
    'sqlite:///ledgers/may%3F.db'
    """
    return sa.URL.create("sqlite", database=str(path)).render_as_string()
