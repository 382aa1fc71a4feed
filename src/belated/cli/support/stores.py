"""Database addresses of ledgers: the option --store, and functions that use an address."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from belated.cli.support.errors import database_errors, usage_errors

if TYPE_CHECKING:
    from belated.cli.support.existing_ledger import ExistingLedger
    from belated.ledger.ledger import Ledger

STORE_FILE_VARIABLE: Final = "BELATED_STORE_FILE"
"""Environment variable with the name of a file that contains the address of the store."""


def read_store(context: typer.Context, param: typer.CallbackParam, store: str) -> str:
    """Return the database address of the store.

    If the environment variable BELATED_STORE_FILE names a file, and the address is given neither on
    the command line nor in BELATED_STORE, return the content of this file; otherwise `store`.
    Exit with a usage error if the file cannot be read or is empty.
    """
    source: Any = context.get_parameter_source(str(param.name))
    file = os.environ.get(STORE_FILE_VARIABLE)
    if not file or source.name not in ("DEFAULT", "DEFAULT_MAP"):
        return store
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{STORE_FILE_VARIABLE}: {error}.") from None
    if not text:
        raise typer.BadParameter(f"{STORE_FILE_VARIABLE}: {file} is empty.")
    return text


StoreOption = Annotated[
    str,
    typer.Option(
        envvar="BELATED_STORE",
        callback=read_store,
        help="Address of the ledger: sqlite:///belated.db, or postgresql://user@host/database. It "
        f"can also be in a file that {STORE_FILE_VARIABLE} names, which --store and BELATED_STORE "
        "override.",
    ),
]
DEFAULT_STORE: Final = "sqlite:///belated.db"


def open_ledger(store: str) -> "Ledger":
    """Open the ledger at the database address `store`, and return it.

    The ledger is created if it does not exist. If it cannot be opened, exit with an error message.
    """
    from belated.ledger.ledger import Ledger

    with database_errors(), usage_errors("--store"):
        return Ledger.open(store)


@contextmanager
def open_existing(store: str, option: str = "--store") -> "Iterator[ExistingLedger]":
    """Yield the existing ledger at the database address `store`, and close it afterwards.

    If it cannot be opened, or if the database fails in the block, exit with an error message.
    `option` is the name of the option with the address, for this message.
    """
    import belated.ledger  # noqa: F401  raises ImportError with advice
    from belated.cli.support.existing_ledger import open_existing_ledger

    with database_errors():
        with usage_errors(option):
            ledger = open_existing_ledger(store)
        with ledger:
            yield ledger


def check_file(store: str) -> None:
    """Raise ValueError if `store` is the address of a SQLite database that does not exist.

    Addresses of other databases are not checked.
    """
    from belated.ledger.store import is_in_memory, is_uri, parse_url

    address = parse_url(store)
    if address.get_backend_name() != "sqlite" or is_uri(address):
        return
    if is_in_memory(address):
        raise ValueError(
            f"{address} is an empty database in memory; give the address of an existing ledger, "
            "such as sqlite:///belated.db."
        )
    file = Path(str(address.database))
    if file.is_dir():
        raise ValueError(f"{file} is a folder, but must be a SQLite file.")
    if not file.is_file():
        raise ValueError(f"There is no file {file}; check the address of the ledger.")


def hide_password(store: str) -> str:
    """Return the database address `store` with asterisks in place of its password.

    The name of the PostgreSQL driver is added if the address does not contain one.

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
    from belated.ledger.store import parse_url

    return parse_url("sqlite://").set(database=str(path)).render_as_string()
