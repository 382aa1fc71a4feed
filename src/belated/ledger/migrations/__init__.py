"""Migrations of the database. The package `versions` has one module for each version of the tables.

A new database gets the newest tables at once, from `belated.ledger.schema`. To change the tables,
add a module whose `down_revision` is the previous version, and change `belated.ledger.schema`
accordingly; a module is never edited after its release. A migration that rebuilds the table
`events` must also create the triggers of that table again.
"""

from functools import cache
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

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
    config = _config(folder)
    config.attributes["connection"] = connection
    version = current(connection)
    try:
        if version is None:
            schema.create(connection)
            _context(connection).stamp(_scripts(folder), "head")
            return
        if version in EARLIER:
            command.stamp(config, "base", purge=True)
        command.upgrade(config, "head")
    except CommandError as error:
        raise ValueError(
            f"The database has version {current(connection)}, which this release does not know; "
            f"use the newer release of belated that wrote it ({error})."
        ) from None


def current(connection: sa.Connection) -> str | None:
    """Return the version of the database of `connection`; None if it has no tables yet."""
    return _context(connection).get_current_revision()


def newest() -> str | None:
    """Return the newest version of the tables."""
    return _scripts(FOLDER).get_current_head()


def _context(connection: sa.Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": TABLE})


@cache
def _scripts(folder: Path) -> ScriptDirectory:
    return ScriptDirectory.from_config(_config(folder))


def _config(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
