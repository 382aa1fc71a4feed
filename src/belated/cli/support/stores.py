"""Database addresses of ledgers: the option --store, and functions that use an address."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from belated.cli.support.errors import database_errors, usage_errors
from belated.cli.support.settings_file import STORE_FILE_VARIABLE, read_store

if TYPE_CHECKING:
    from belated.ledger.ledger import Ledger

StoreOption = Annotated[
    str,
    typer.Option(
        envvar="BELATED_STORE",
        callback=read_store,
        help="Address of the ledger: sqlite:///belated.db, or postgresql://user@host/database. It "
        f"can also be in a file that {STORE_FILE_VARIABLE} names.",
    ),
]
DEFAULT_STORE: Final = "sqlite:///belated.db"


def open_ledger(store: str) -> "Ledger":
    """Open the ledger at the database address `store`, and return it.

    The ledger is created if it does not exist. If it cannot be opened, exit with an error message.
    """
    with usage_errors():
        from belated.ledger.ledger import Ledger
    with database_errors(), usage_errors("--store"):
        return Ledger.open(store)


def hide_password(store: str) -> str:
    """Return the database address `store` with asterisks in place of its password.

    >>> hide_password("postgresql://me:secret@host/belated")
    'postgresql+psycopg://me:***@host/belated'
    """
    from belated.ledger.store import parse_url

    return str(parse_url(store))


def sqlite_url(path: Path) -> str:
    """Return the database address of the SQLite file `path`.

    >>> sqlite_url(Path("ledgers/may?.db"))
    'sqlite:///ledgers/may%3F.db'
    """
    import sqlalchemy as sa

    return sa.URL.create("sqlite", database=str(path)).render_as_string()
