"""Insertion of many rows in few statements.

The database driver releases Python's interpreter lock at each statement. With one statement for
each row, other threads could interrupt the insertion after each row.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

MAX_PARAMETERS_PER_INSERT: Final = 10_000
"""Maximum number of values in one INSERT statement of SQLite, which allows three times as many."""

MAX_ROWS_PER_INSERT: Final = 1000
"""Maximum number of rows in one INSERT statement of PostgreSQL."""


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert many rows in few statements.

    Parameters
    ----------
    connection : sa.Connection
        Connection with an open write transaction.
    table : sa.Table
        Table to insert into.
    rows : sequence of mappings
        Rows to insert. Each row maps the name of every column to None, a number, a text, a boolean
        or bytes; other keys are ignored.
    """
    if connection.dialect.name == "postgresql":
        for first in range(0, len(rows), MAX_ROWS_PER_INSERT):
            chunk = rows[first : first + MAX_ROWS_PER_INSERT]
            statement = postgres_insert(table, connection.dialect)
            connection.exec_driver_sql(statement, (encode_rows(chunk),))
        return
    names = [column.name for column in table.columns]
    size = MAX_PARAMETERS_PER_INSERT // len(names)
    for first in range(0, len(rows), size):
        chunk = rows[first : first + size]
        statement = _sqlite_insert(table, len(chunk))
        parameters = tuple([row[name] for row in chunk for name in names])  # not a generator: fast
        connection.exec_driver_sql(statement, parameters)


@lru_cache(maxsize=256)
def postgres_insert(
    table: sa.Table, dialect: sa.Dialect, parameter: str = "%s", moved_by: str | None = None
) -> str:
    """Return a statement that inserts the rows in one parameter, a list of objects as JSON.

    A statement with a parameter for each value would take twice as long, and could not be prepared,
    since its text depends on the number of rows. Bytes are given in hexadecimal.

    Parameters
    ----------
    table : sa.Table
        Table to insert into.
    dialect : sa.Dialect
        SQL dialect of PostgreSQL.
    parameter : str
        Placeholder of the parameter.
    moved_by : str, optional
        Name of a query with the only column `distance` and at most one row. The distance is added
        to the sequence numbers of the rows; if there is none, nothing is inserted. None to insert
        the rows as they are.

    Returns
    -------
    str
        The statement.
    """
    types = {each.name: each.type.compile(dialect) for each in table.columns}
    read = (f"{name} {'TEXT' if type == 'BYTEA' else type}" for name, type in types.items())
    values = {
        name: f"decode({name}, 'hex')" if type == "BYTEA" else name for name, type in types.items()
    }
    if moved_by is not None:
        values["seq"] = "seq + distance"
    source = f"json_to_recordset({parameter}) AS given({', '.join(read)})"
    return (
        f"INSERT INTO {table.name} ({', '.join(types)}) SELECT {', '.join(values.values())} "
        f"FROM {source if moved_by is None else f'{moved_by}, {source}'}"
    )


def encode_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return `rows` as the parameter of a statement of `postgres_insert`."""
    return json.dumps(rows, default=bytes.hex, ensure_ascii=False)


@lru_cache(maxsize=256)
def _sqlite_insert(table: sa.Table, rows: int) -> str:
    columns = [column.name for column in table.columns]
    row = f"({', '.join('?' * len(columns))})"
    # the names need no quotes, since none of them is a reserved word
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}"
