"""Migrations of empty databases, repeated as the statements that they executed the first time.

To load and run all migrations takes 40 ms, and more than a thousand tests need an empty ledger.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from belated.ledger import migrations

migrate = migrations.upgrade
executed: dict[str, list[tuple[str, Any]]] = {}
"""Statements with their parameters that create the newest tables, by name of the dialect."""


def upgrade(
    connection: sa.Connection, to: str = "head", *, folder: Path = migrations.FOLDER
) -> None:
    """Migrate the tables of a database as `migrations.upgrade` does."""
    known = executed.get(connection.dialect.name)
    is_empty = migrations.current(connection) is None
    if (to, folder) != ("head", migrations.FOLDER) or not is_empty:
        migrate(connection, to, folder=folder)
    elif known is None:
        with recording(connection) as statements:
            migrate(connection)
        executed[connection.dialect.name] = statements
    else:
        for statement, parameters in known:
            connection.exec_driver_sql(statement, parameters)


@contextmanager
def recording(connection: sa.Connection) -> Iterator[list[tuple[str, Any]]]:
    """Return a context manager that lists the statements that change a database."""
    statements = []

    def record(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip().startswith(("SELECT", "PRAGMA")):
            statements.append((statement, parameters))

    sa.event.listen(connection, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        sa.event.remove(connection, "before_cursor_execute", record)


@pytest.fixture
def real_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute the migrations themselves, also for empty databases."""
    monkeypatch.setattr(migrations, "upgrade", migrate)
