"""Access to the database of a ledger, SQLite or PostgreSQL: URL, connections, transactions."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from belated.ledger import migrations
from belated.ledger.databases import (
    LOCK_TIMEOUT,
    LOCK_TIMEOUT_MS,
    POOL_SIZE,
    REMOVE_LIMITS,
    create_postgres_engine,
    create_sqlite_engine,
    describe_outage,
    end_stalled_writer,
    is_in_memory,
)

Clock: TypeAlias = Callable[[], int]

WRITER_LOCK_ID: Final = int.from_bytes(b"belated", "big")
"""Id of the PostgreSQL advisory lock that is held by a write transaction."""

SCRUB_TIMEOUT_MS: Final = 500
"""Maximum time in milliseconds for which `Store.scrub` waits for readers to finish.

Writers are blocked during this time."""

PAGE_SIZE: Final = 1000
"""Maximum number of rows to read in one transaction."""

OUTAGES: Final = (
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.InternalError,  # the database is read-only, such as a standby before it takes over
    sa.exc.TimeoutError,
)
"""Types of exceptions that indicate that the database is unavailable."""

_WRITES: Final = {"belated_writes": True}
LOCK_STATEMENT: Final = f"SELECT pg_advisory_xact_lock({WRITER_LOCK_ID})"
_LAST_SEQ: Final = "SELECT max(seq) FROM events"
_PROBE: Final = sa.text(f"UPDATE {migrations.TABLE} SET version_num = version_num")


def now() -> int:
    """Return the current time in microseconds since 1970 (UTC)."""
    return time.time_ns() // 1000


class UnreadableRowError(ValueError):
    """Error because a row is damaged: a text is not valid UTF-8, or a value has a wrong type."""


class Store:
    """Open database of a ledger.

    Write transactions are executed one after another, in SQLite as in PostgreSQL. Sequence numbers
    therefore have no gaps, and become visible to readers in increasing order. Several threads may
    share a store.

    Parameters
    ----------
    engine : sa.Engine
        Engine for reading.
    writer : sa.Engine
        Engine for writing; may be the same as `engine`.
    shared : bool
        Whether reading and writing share a single connection, so that readers wait for writers.
    clock : callable
        Function that returns the current time in microseconds since 1970 (UTC).
    """

    def __init__(self, engine: sa.Engine, writer: sa.Engine, *, shared: bool, clock: Clock) -> None:
        self.engine = engine
        self.writer = writer
        self.now = clock
        self._write = threading.RLock()
        self._read = self._write if shared else None
        self._open = True
        # whether the log may contain redacted data, for example after a process was killed
        self._needs_scrub = True

    @classmethod
    def open(cls, url: str, clock: Clock = now) -> "Store":
        """Open a database.

        Parameters
        ----------
        url : str
            URL of the database: sqlite:///path/to/file, sqlite:// for a database in memory, or
            postgresql://...
        clock : callable
            Function that returns the current time in microseconds since 1970 (UTC).

        Returns
        -------
        Store
            The open database.

        Raises
        ------
        ValueError
            If the URL is not valid.
        OSError
            If the database cannot be opened.
        """
        parsed = parse_url(url)
        in_memory = parsed.get_backend_name() == "sqlite" and is_in_memory(parsed)
        if parsed.get_backend_name() == "postgresql":
            engine = writer = create_postgres_engine(parsed)
        elif in_memory:
            engine = writer = create_sqlite_engine(parsed, poolclass=StaticPool)
        else:
            engine = create_sqlite_engine(parsed, pool_size=POOL_SIZE)
            # SQLite drops the page cache of a connection when another connection has written
            writer = create_sqlite_engine(parsed, pool_size=1, max_overflow=0)
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
        """Whether the database is PostgreSQL."""
        return self.engine.dialect.name == "postgresql"

    @property
    def used_connections(self) -> int:
        """Number of connections to the database that are in use."""
        pools = {self.engine.pool, self.writer.pool}
        return sum(pool.checkedout() for pool in pools if isinstance(pool, sa.QueuePool))

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Return a context manager that begins a read transaction and returns its connection.

        On PostgreSQL, a statement may see commits that an earlier statement did not see; use
        `consistent_reading` if all statements must see the same data.
        """
        self._check_open()
        with self._read or nullcontext(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def consistent_reading(self) -> Iterator[sa.Connection]:
        """Return a context manager that begins a read transaction and returns its connection.

        All statements see the same data, which later commits do not change. The transaction may
        take any time: the limits in `belated.ledger.databases` do not apply.
        """
        self._check_open()
        level = {"isolation_level": "REPEATABLE READ"} if self.on_postgres else {}
        with (
            self._read or nullcontext(),
            self.engine.connect().execution_options(**level) as connection,
            connection.begin(),
        ):
            if self.on_postgres:
                connection.execute(REMOVE_LIMITS)
            yield connection

    @contextmanager
    def writing(self, *, limited: bool = True) -> Iterator[sa.Connection]:
        """Return a context manager that begins a write transaction and returns its connection.

        There is one write transaction at a time. It is committed to disk at the end of the `with`
        block, or rolled back if the block raises an exception. With `limited=False`, it may wait
        and run for any time: the limits in `belated.ledger.databases` do not apply.
        """
        with self._begin() as connection:
            if self.on_postgres:
                if not limited:
                    connection.execute(REMOVE_LIMITS)
                connection.exec_driver_sql(LOCK_STATEMENT)
            yield connection

    @contextmanager
    def appending(self) -> Iterator[tuple[sa.Connection, int]]:
        """Return a context manager that begins a write transaction to append events.

        It returns the connection, and the sequence number of the last event, 0 if there is none.
        Otherwise it is the same as `writing`. On PostgreSQL the lock and the number take one round
        trip together, because other writers wait for this one from the moment it has the lock.
        """
        with self._begin() as connection:
            lock = f"{LOCK_STATEMENT}; " if self.on_postgres else ""
            cursor: Any = connection.exec_driver_sql(f"{lock}{_LAST_SEQ}").cursor
            if self.on_postgres:
                cursor.nextset()  # each statement sees what was committed before it began
            [last] = cursor.fetchone()
            yield connection, last or 0

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        """Return a context manager that begins a transaction and returns its connection.

        On SQLite, but not on PostgreSQL, the transaction has the lock that serializes writers.
        """
        with self._write, self._ending_stalled_writer():
            self._check_open()
            with (
                self.writer.connect().execution_options(**_WRITES) as connection,
                connection.begin(),
            ):
                yield connection

    @contextmanager
    def _ending_stalled_writer(self) -> Iterator[None]:
        """Return a context manager that ends a stalled session after a timeout of its lock.

        The exception is raised nevertheless; the next attempt to write can succeed.
        """
        try:
            yield
        except sa.exc.OperationalError as error:
            if self.on_postgres and describe_outage(error).reason == LOCK_TIMEOUT:
                end_stalled_writer(self.engine, WRITER_LOCK_ID)
            raise

    def probe(self) -> None:
        """Check that the database can be written; raise an exception if it cannot.

        The row with the version of the tables is overwritten with the same content, and the
        transaction is committed.
        """
        with self.writing() as connection:
            connection.execute(_PROBE)

    def scrub(self, *, wait: bool) -> bool:
        """Truncate the write-ahead log of SQLite, so that it contains no redacted data.

        On PostgreSQL, do nothing and return True.

        Parameters
        ----------
        wait : bool
            True: truncate the log, waiting at most `SCRUB_TIMEOUT_MS` for readers; use this after a
            redaction. False: try without waiting, and only if the last attempt failed or there has
            been no attempt since the database was opened.

        Returns
        -------
        bool
            True if the log contains no redacted data. False if it could not be truncated, because a
            connection is reading or an error occurred.
        """
        if self.on_postgres or not (wait or self._needs_scrub):
            return True
        with self._write:
            self._needs_scrub = not self._truncate_log(SCRUB_TIMEOUT_MS if wait else 0)
            return not self._needs_scrub

    def _truncate_log(self, timeout_ms: int) -> bool:
        """Checkpoint the write-ahead log and truncate it, waiting at most `timeout_ms` for readers.

        Returns whether this succeeded.
        """
        try:
            with self.writer.connect() as connection:
                driver: Any = connection.connection.dbapi_connection
                driver.execute(f"PRAGMA busy_timeout = {timeout_ms}")
                try:
                    prevented, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    driver.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_MS}")
        except (sqlite3.Error, sa.exc.SQLAlchemyError):  # such as a full disk
            return False
        return not prevented

    def close(self) -> None:
        """Close all connections."""
        self._open = False
        self.engine.dispose()
        self.writer.dispose()

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("The ledger is closed.")


def parse_url(url: str) -> sa.URL:
    """Return `url`, the URL of a SQLite or PostgreSQL database, as a SQLAlchemy URL.

    The PostgreSQL driver is added if `url` does not name a driver. Raises ValueError if `url` is
    malformed or belongs to another kind of database.
    """
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError(
            "store must be an address such as sqlite:///belated.db or "
            f"postgresql://user@host/database, got {url!r}."
        ) from None
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise ValueError(
            f"store must be of the kind sqlite or postgresql, got {parsed.drivername!r}."
        )
    return parsed


def is_undecodable(error: sa.exc.OperationalError) -> bool:
    """Return whether SQLite raised `error` because a stored text is not valid UTF-8."""
    return "Could not decode to UTF-8" in str(error.orig)


def read_pages(
    store: Store,
    query: sa.Select[Any],
    key: sa.ColumnElement[int],
    *,
    after: int = 0,
    limit: int | None = None,
    order: sa.ColumnElement[int] | None = None,
) -> Iterator[sa.Row[Any]]:
    """Yield the rows of a query in order of a key. Each page is read in a transaction of its own.

    Parameters
    ----------
    store : Store
        Database to read from.
    query : sa.Select
        Query whose first column is `key`.
    key : sa.ColumnElement
        Column of unique integers.
    after : int
        Yield only rows with a key greater than `after`.
    limit : int, optional
        Maximum number of rows; None for no maximum.
    order : sa.ColumnElement, optional
        Expression for ORDER BY that gives the same order as `key` but makes the database use
        another index. If None, `key` is used.

    Yields
    ------
    sa.Row
        The next row.

    Raises
    ------
    UnreadableRowError
        If a row is damaged.
    """
    order, left = key if order is None else order, limit
    while left is None or left > 0:
        size = PAGE_SIZE if left is None else min(PAGE_SIZE, left)
        page = query.where(key > after).order_by(order).limit(size)
        try:
            with store.reading() as connection:
                rows = connection.execute(page).all()
        except sa.exc.OperationalError as error:
            if not is_undecodable(error):
                raise
            number = _find_undecodable(store, query, page, key)
            raise UnreadableRowError(
                f"Row {number} of the table {key.table.name} is damaged: a text is not valid UTF-8."
            ) from None  # the message of the cause contains the text
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1][0]
        left = None if left is None else left - len(rows)


def _find_undecodable(
    store: Store, query: sa.Select[Any], page: sa.Select[Any], key: sa.ColumnElement[int]
) -> int | None:
    """Return the key of the first row of `page` that contains a text that cannot be decoded.

    `query` is the query of `page` without a limit, and `key` its key column. Returns None if all
    rows can be decoded.
    """
    with store.reading() as connection:
        for number in connection.scalars(page.with_only_columns(key)).all():
            try:
                connection.execute(query.where(key == number)).all()
            except sa.exc.OperationalError:
                return int(number)
    return None
