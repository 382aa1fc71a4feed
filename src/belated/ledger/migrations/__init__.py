"""Migrations of the database. The package `versions` has one module for each version of the tables.

A new database gets the newest tables at once, from `belated.ledger.schema`. To change the tables,
add a module whose `down_revision` is the previous version, and change `belated.ledger.schema`
accordingly; a module is never edited after its release. A migration that rebuilds the table
`events` must also create the triggers of that table again.
"""

from pathlib import Path
from typing import Final

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError

from belated.ledger import schema

FOLDER: Final = Path(__file__).parent
TABLE: Final = "belated_version"
"""Name of the table that holds the version of the database.

Alembic's default name is avoided, since another application may use it in the same database."""


EARLIER: Final = ("0001", "0002", "0003", "0004", "0005")
"""Versions of the tables in releases 0.1 and 0.2; the first migration upgrades each of them."""


def upgrade(connection: sa.Connection, *, folder: Path = FOLDER) -> None:
    """Create the tables in an empty database, or migrate them to the newest version.

    Parameters
    ----------
    connection : sa.Connection
        Connection to the database, with an open transaction in which to migrate.
    folder : Path
        Folder that contains the migrations.

    Raises
    ------
    ValueError
        If `folder` does not contain the version of the database, for example because a later
        release of belated wrote the database.
    """
    context, scripts = _context(connection), ScriptDirectory(str(folder))
    version = context.get_current_revision()
    if version is None:
        schema.create(connection)
    else:
        base = "base" if version in EARLIER else version
        try:
            missing = [*scripts.iterate_revisions("head", base)]
        except RevisionError as error:
            raise ValueError(
                f"The database has version {version}, which this release does not know; "
                f"use the newer release of belated that wrote it ({error})."
            ) from None
        with Operations.context(context):
            for script in reversed(missing):
                script.module.upgrade()
        connection.exec_driver_sql(f"DELETE FROM {TABLE}")
    context.stamp(scripts, "head")


def current(connection: sa.Connection) -> str | None:
    """Return the version of the database of `connection`; None if it has no tables yet."""
    return _context(connection).get_current_revision()


def newest() -> str | None:
    """Return the newest version of the tables."""
    return ScriptDirectory(str(FOLDER)).get_current_head()


def _context(connection: sa.Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": TABLE})
