"""How a database is brought up to date: one module in `versions` for each change of the tables.

A version is never edited once it is released. The next one goes into a module of its own that names
the one before as its `down_revision`, and changes `belated.ledger.schema` alike. A version that
rebuilds `events` must put its triggers back.
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
"""Where the database keeps its version; another than alembic's own, for its neighbours' sake."""


def upgrade(connection: sa.Connection, to: str = "head", *, folder: Path = FOLDER) -> None:
    """Bring the tables up to a version, within the connection's transaction."""
    config = _config(folder)
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, to)
    except CommandError as error:
        raise ValueError(
            f"The database has version {current(connection)}, which this belated does not know; "
            f"a newer one has written it ({error})."
        ) from None


def current(connection: sa.Connection) -> str | None:
    """The version of the database; None if it is empty."""
    return MigrationContext.configure(
        connection, opts={"version_table": TABLE}
    ).get_current_revision()


def newest(folder: Path = FOLDER) -> str | None:
    """The version that databases are brought up to."""
    return ScriptDirectory.from_config(_config(folder)).get_current_head()


def _config(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
