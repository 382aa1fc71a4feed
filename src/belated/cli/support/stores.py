"""Addresses of ledgers: the --store option, opening a ledger, and printing without a password."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from belated.cli.support.errors import database_errors, usage_errors

if TYPE_CHECKING:
    from belated.ledger.ledger import Ledger

StoreOption = Annotated[
    str,
    typer.Option(
        help="Address of the ledger: sqlite:///belated.db, or postgresql://user@host/database."
    ),
]
DEFAULT_STORE: Final = "sqlite:///belated.db"


def open_ledger(store: str) -> "Ledger":
    """Return the ledger at the address `store`, created if necessary; exit if it fails."""
    with usage_errors():
        from belated.ledger.ledger import Ledger
    with database_errors(), usage_errors("--store"):
        return Ledger.open(store)


def hide_password(store: str) -> str:
    """Return the address `store` without its password.

    >>> hide_password("postgresql://me:secret@host/belated")
    'postgresql+psycopg://me:***@host/belated'
    """
    from belated.ledger.store import parse_url

    return str(parse_url(store))


def sqlite_url(path: Path) -> str:
    """Return the address of the SQLite file `path`.

    >>> sqlite_url(Path("ledgers/may?.db"))
    'sqlite:///ledgers/may%3F.db'
    """
    import sqlalchemy as sa

    return sa.URL.create("sqlite", database=str(path)).render_as_string()
