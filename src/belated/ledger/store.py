"""Store: the database under a ledger, SQLite or PostgreSQL, and how it is read and written."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import asbool

Clock: TypeAlias = Callable[[], int]

LOCK: Final = int.from_bytes(b"belated", "big")
"""The advisory lock that a writer holds on PostgreSQL."""

PATIENCE: Final = 60_000
"""How long to wait for another process that writes to the same SQLite file, in milliseconds."""

SCRUB_PATIENCE: Final = 500
"""How long to wait for those who read, in milliseconds: nobody can write meanwhile."""

KEPT: Final = 14
"""How many connections to keep: as many as the service has threads that ask."""

OUTAGES: Final = (
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.InternalError,  # it is read-only, as a standby is before it takes over
    sa.exc.TimeoutError,
)
"""What a database raises when it is the one that fails."""

_WRITES: Final = {"belated_writes": True}


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000


class Store:
    """An open database.

    One writer at a time, whatever the database: what is written in one transaction is numbered
    without gaps, and nobody sees a number before all smaller ones.
    """

    def __init__(self, engine: sa.Engine, writer: sa.Engine, *, shared: bool, clock: Clock) -> None:
        self.engine = engine
        self.writer = writer
        self.now = clock
        self._write = threading.RLock()
        # in memory there is one connection, so that reading must wait for writing
        self._read = self._write if shared else None
        self._open = True
        # whether something redacted may be left in a file, be it by one that was killed
        self._traces = True

    @classmethod
    def open(cls, url: str, clock: Clock = now) -> "Store":
        """The database at `url`: sqlite:///path, sqlite:// in memory, or postgresql://..."""
        parsed = parse_url(url)
        in_memory = parsed.get_backend_name() == "sqlite" and parsed.database in (
            None,
            "",
            ":memory:",
        )
        if parsed.get_backend_name() == "postgresql":
            engine = writer = _postgres(parsed)
        elif in_memory:
            engine = writer = _sqlite(parsed, poolclass=StaticPool)
        else:
            engine = _sqlite(parsed, pool_size=KEPT)
            # what a connection has read is of no use to it once another has written
            writer = _sqlite(parsed, pool_size=1, max_overflow=0)
        try:
            with engine.connect():
                pass
        except sa.exc.DBAPIError as error:
            engine.dispose()
            why = str(error.orig).strip().partition("\n")[0]
            raise ConnectionError(f"store {parsed} cannot be opened: {why}.") from None
        return cls(engine, writer, shared=in_memory, clock=clock)

    @property
    def on_postgres(self) -> bool:
        """Whether this is PostgreSQL."""
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees what was committed."""
        self._check_open()
        with self._read or nullcontext(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def steady(self) -> Iterator[sa.Connection]:
        """A transaction that sees what was committed when it began, and nothing later."""
        self._check_open()
        level = {"isolation_level": "REPEATABLE READ"} if self.on_postgres else {}
        with (
            self._read or nullcontext(),
            self.engine.connect().execution_options(**level) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that no other writer disturbs; it is on disk when this ends."""
        with self._write:
            self._check_open()
            with (
                self.writer.connect().execution_options(**_WRITES) as connection,
                connection.begin(),
            ):
                if self.on_postgres:
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
                yield connection

    def scrub(self, *, patient: bool) -> bool:
        """Leave nothing of what was overwritten in files beside the database.

        Returns whether that is so: one who still reads what was there before prevents it. Who has
        just redacted something is patient; later calls try again, but wait for nobody.
        """
        if self.on_postgres or not (patient or self._traces):
            return True
        with self._write:
            self._traces = not self._checkpoint(SCRUB_PATIENCE if patient else 0)
            return not self._traces

    def _checkpoint(self, patience: int) -> bool:
        """Whether all of the log could be written to the database, and nothing is left in it."""
        try:
            with self.writer.connect() as connection:
                driver: Any = connection.connection.dbapi_connection
                driver.execute(f"PRAGMA busy_timeout = {patience}")
                try:
                    prevented, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    driver.execute(f"PRAGMA busy_timeout = {PATIENCE}")
        except (sqlite3.Error, sa.exc.SQLAlchemyError):  # a full disk, say: what was written stays
            return False
        return not prevented

    def close(self) -> None:
        """Let go of every connection."""
        self._open = False
        self.engine.dispose()
        self.writer.dispose()

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("The ledger is closed.")


def parse_url(url: str) -> sa.URL:
    """An address of a kind that is known here."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError(
            f"store is {url!r}; it must be an address such as sqlite:///belated.db "
            "or postgresql://user@host/database."
        ) from None
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise ValueError(
            f"store is of the kind {parsed.drivername!r}; allowed are sqlite and postgresql."
        )
    return parsed


def is_uri(url: sa.URL) -> bool:
    """Whether SQLite itself reads the name of the database, which then may be no file."""
    return asbool(url.query.get("uri", False))


def _postgres(url: sa.URL) -> sa.Engine:
    try:
        # each statement must see what was committed before it, above all while waiting to write
        engine = sa.create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            pool_size=KEPT,
            hide_parameters=True,
        )
    except ImportError:
        raise ImportError(
            "A store on PostgreSQL needs psycopg: pip install 'belated[postgres]'."
        ) from None

    @event.listens_for(engine, "connect")
    def durable(connection: Any, record: object) -> None:
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()

    return engine


def _sqlite(url: sa.URL, **pool: Any) -> sa.Engine:
    if pool.get("poolclass") is not StaticPool and not is_uri(url):
        _create_privately(Path(str(url.database)))
    engine = sa.create_engine(
        url, connect_args={"check_same_thread": False}, hide_parameters=True, **pool
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:
        connection.isolation_level = None  # transactions begin below, and DDL is part of them
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")
        _write_ahead(connection)
        for setting in (
            "synchronous = FULL",  # a commit is on disk when it returns
            "fullfsync = ON",  # and not in the disk's memory, where that differs
            "foreign_keys = ON",
            "secure_delete = ON",  # what is redacted is overwritten
            "wal_autocheckpoint = 8000",  # pages: most are written often, and copied once
            "cache_size = -16000",  # kilobytes
        ):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("belated_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Keep a log beside the file, so that who reads and who writes need not wait for each other.

    SQLite does not wait by itself where two would turn a new file over at once.
    """
    deadline = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            kind = error.sqlite_errorcode & 0xFF  # the rest says why
            if kind != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _create_privately(path: Path) -> None:
    """Make the file, for its owner alone: it holds people's data."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store is in {path.parent}, and there is no such folder.")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise type(error)(f"store {path} cannot be opened: {error.strerror}.") from None


PAGE: Final = 1000


def paged(
    store: Store,
    query: sa.Select[Any],
    key: sa.ColumnElement[int],
    *,
    after: int = 0,
    limit: int | None = None,
    order: sa.ColumnElement[int] | None = None,
) -> Iterator[sa.Row[Any]]:
    """The rows of a query whose first column is `key`, in its order, after one of its values.

    `order` is the same order, written in another way.
    """
    order, left = key if order is None else order, limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        page = query.where(key > after).order_by(order).limit(size)
        with store.reading() as connection:
            rows = connection.execute(page).all()
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1][0]
        left = None if left is None else left - len(rows)
