"""Migrations of the database. The package `versions` has one module for each version of the tables.

A module is never edited after its release. To change the tables, add a module whose `down_revision`
is the previous version, and change `belated.ledger.schema` accordingly. A migration that rebuilds
the table `events` must also create the triggers of that table again.
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

FOLDER: Final = Path(__file__).parent
TABLE: Final = "belated_version"
"""Name of the table that holds the version of the database.

Alembic's default name is avoided, since another application may use it in the same database."""


def upgrade(connection: sa.Connection, to: str = "head", *, folder: Path = FOLDER) -> None:
    """Migrate the tables of a database to a newer version.

    Parameters
    ----------
    connection : sa.Connection
        Connection to the database, with an open transaction in which to migrate.
    to : str
        Version to migrate to; "head" for the newest version.
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
    try:
        command.upgrade(config, to)
    except CommandError as error:
        raise ValueError(
            f"The database has version {current(connection)}, which this release does not know; "
            f"use the newer release of belated that wrote it ({error})."
        ) from None


def current(connection: sa.Connection) -> str | None:
    """Return the version of the database of `connection`; None if it has no tables yet."""
    return MigrationContext.configure(
        connection, opts={"version_table": TABLE}
    ).get_current_revision()


@cache
def newest(folder: Path = FOLDER) -> str | None:
    """Return the newest version among the migrations in `folder`; None for an empty folder."""
    return ScriptDirectory.from_config(_config(folder)).get_current_head()


def _config(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
