"""Copying a ledger to another database: what a backup is, and its return."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import sqlalchemy as sa

from belated.ledger import audit, schema
from belated.ledger.events import Event
from belated.ledger.ledger import Ledger

AT_ONCE: Final = 500


def copy(source: Ledger, target: Ledger) -> dict[str, int]:
    """Copy all that `source` holds now to `target`, which must be empty; all or nothing.

    Every row is counted and every event compared by its digest before the copy is made to stay.
    Returns how many rows there are of each table.
    """
    with source.store.steady() as old, target.store.writing() as new:
        for table in schema.metadata.sorted_tables:
            if new.execute(sa.select(table).limit(1)).first() is not None:
                raise ValueError(f"target has {table.name} already; it must be an empty ledger.")
        rows = {table.name: _copy(table, old, new) for table in schema.metadata.sorted_tables}
        for table in schema.metadata.sorted_tables:
            found = new.scalar(sa.select(sa.func.count()).select_from(table))
            if found != rows[table.name]:
                raise RuntimeError(f"{table.name} has {rows[table.name]} rows, its copy {found}.")
        if _digest(old) != _digest(new):
            raise RuntimeError("The copy has another digest than the ledger.")
    return rows


def _copy(table: sa.Table, old: sa.Connection, new: sa.Connection) -> int:
    count = 0
    for rows in _partitions(table, old):
        new.execute(sa.insert(table), [dict(row._mapping) for row in rows])
        count += len(rows)
    return count


def _digest(connection: sa.Connection) -> str:
    rows: Iterable[Any] = (row for rows in _partitions(schema.events, connection) for row in rows)
    return audit.digest(map(Event._make, rows))


def _partitions(table: sa.Table, connection: sa.Connection) -> Iterator[Any]:
    """The rows of a table in order, some at a time."""
    query = sa.select(table).order_by(*table.primary_key)
    return connection.execution_options(yield_per=AT_ONCE).execute(query).partitions()
