"""Databases for ledgers: SQLite files, and a PostgreSQL that is started for these tests."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from belated.online import Ledger
from databases import postgres_server

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """The server's address; tests are skipped where none can be started."""
    with postgres_server() as url:
        admin = sa.create_engine(
            sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
        )
        with admin.connect() as connection:
            for statement in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
                connection.exec_driver_sql(statement)
        yield admin
        admin.dispose()


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
