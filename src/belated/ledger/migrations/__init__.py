"""Migrations of the database: one module in `versions` for each change of the tables.

A version is never edited after its release. A new version is a new module that names the previous
one as its `down_revision`; `belated.ledger.schema` is changed with it. A version that rebuilds
`events` must create its triggers again.
"""

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
"""Table of the database version; not alembic's default, which other applications may use."""


def upgrade(connection: sa.Connection, to: str = "head", *, folder: Path = FOLDER) -> None:
    """Migrate the tables to a version.

    Parameters
    ----------
    connection : sa.Connection
        Connection in whose transaction to migrate.
    to : str
        Version; "head" for the newest.
    folder : Path
        Folder of the migrations.

    Raises
    ------
    ValueError
        If the database has a version that this release does not know.
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
    """Return the version of the database of `connection`; None if it is empty."""
    return MigrationContext.configure(
        connection, opts={"version_table": TABLE}
    ).get_current_revision()


def newest(folder: Path = FOLDER) -> str | None:
    """Return the newest version in `folder`."""
    return ScriptDirectory.from_config(_config(folder)).get_current_head()


def _config(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
