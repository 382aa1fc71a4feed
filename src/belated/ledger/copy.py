"""Copying of a ledger to another database, for backup and restore."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import sqlalchemy as sa

from belated.ledger import audit, schema
from belated.ledger.events import Event
from belated.ledger.ledger import Ledger

ROWS_PER_INSERT: Final = 500


def copy(source: Ledger, target: Ledger) -> dict[str, int]:
    """Copy all rows of `source` to the empty ledger `target` in one transaction.

    Returns a dict that maps the name of each table to the number of copied rows. Raises ValueError
    if `target` is not empty. Before the transaction is committed, the two ledgers are compared: the
    number of rows of each table, and the digest of all events. If they differ, RuntimeError is
    raised and nothing is copied.
    """
    with (
        source.store.consistent_reading() as old,
        target.store.writing(limited=False) as new,
    ):
        for table in schema.metadata.sorted_tables:
            if new.execute(sa.select(table).limit(1)).first() is not None:
                raise ValueError(
                    f"target must be an empty ledger, but its table {table.name} has rows."
                )
        rows = {table.name: _copy_table(table, old, new) for table in schema.metadata.sorted_tables}
        for table in schema.metadata.sorted_tables:
            found = new.scalar(sa.select(sa.func.count()).select_from(table))
            if found != rows[table.name]:
                raise RuntimeError(
                    f"The copy of table {table.name} must have {rows[table.name]} rows, "
                    f"got {found}."
                )
        if _digest(old) != _digest(new):
            raise RuntimeError("Digest mismatch: the events of the ledger and its copy differ.")
    return rows


def _copy_table(table: sa.Table, old: sa.Connection, new: sa.Connection) -> int:
    count = 0
    for rows in _partitions(table, old):
        new.execute(sa.insert(table), [dict(row._mapping) for row in rows])
        count += len(rows)
    return count


def _digest(connection: sa.Connection) -> str:
    rows: Iterable[Any] = (row for rows in _partitions(schema.events, connection) for row in rows)
    return audit.digest_events(map(Event._make, rows))


def _partitions(table: sa.Table, connection: sa.Connection) -> Iterator[Any]:
    """Return an iterator over the rows of `table`, in order of their primary key.

    Each item is a list of at most `ROWS_PER_INSERT` rows.
    """
    query = sa.select(table).order_by(*table.primary_key)
    return connection.execution_options(yield_per=ROWS_PER_INSERT).execute(query).partitions()
