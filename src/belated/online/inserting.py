"""Inserting: many rows by one statement.

The driver lets other threads go ahead at each statement; row by row, these would come in between
as often as there are rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

MARKS: Final = 10_000
"""The most values in one statement; both databases take three times as many."""


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that have a value for each column, of a kind that the driver takes as it is."""
    names = [column.name for column in table.columns]
    for some in _pieces(rows, MARKS // len(names)):
        statement = _statement(table, len(some), connection.dialect.paramstyle)
        values = tuple(row[name] for row in some for name in names)
        connection.exec_driver_sql(statement, values)


def _pieces(rows: Sequence[Mapping[str, Any]], most: int) -> Iterator[Sequence[Mapping[str, Any]]]:
    for first in range(0, len(rows), most):
        yield rows[first : first + most]


@lru_cache(maxsize=256)
def _statement(table: sa.Table, rows: int, style: str) -> str:
    mark = "?" if style == "qmark" else "%s"
    columns = [column.name for column in table.columns]
    row = f"({', '.join([mark] * len(columns))})"
    # the names are ours, and are none that a database keeps for itself
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}"
