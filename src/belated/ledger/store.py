"""Access to the database of a ledger, SQLite or PostgreSQL: URL, connections, transactions.

On PostgreSQL, limits on the time that a connection waits keep a process that is stopped while it
writes, or a server that no longer responds, from blocking all other processes. A limit that is
already set in the URL of the database or for the database role is not changed.
"""

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

from belated.extras import missing_extra
from belated.ledger import migrations
from belated.ledger.outages import LOCK_TIMEOUT, LOG, describe_outage

LOCK_TIMEOUT_MS: Final = 60_000
"""Maximum time in milliseconds to wait while another process writes to the SQLite file."""


def is_uri(url: sa.URL) -> bool:
    """Return whether the database in `url` is a SQLite URI (uri=true) rather than a file name."""
    return asbool(url.query.get("uri", False))


def is_in_memory(url: sa.URL) -> bool:
    """Return whether `url`, the URL of a SQLite database, refers to a database in memory."""
    return url.database in (None, "", ":memory:")


def create_sqlite_engine(url: sa.URL, **pool: Any) -> sa.Engine:
    """Return an engine for the SQLite database at `url`.

    `pool` contains options for the connection pool of the engine. The database file is created if
    it does not exist. Raises OSError if the file cannot be created or opened.
    """
    if pool.get("poolclass") is not StaticPool and not is_uri(url):
        _create_private_file(Path(str(url.database)))
    engine = sa.create_engine(
        url, connect_args={"check_same_thread": False}, hide_parameters=True, **pool
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:
        connection.isolation_level = None  # so that BEGIN is sent below, also for DDL
        # a damaged text is read nevertheless, and found by its digest
        connection.text_factory = lambda data: data.decode(errors="replace")
        connection.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_MS}")
        _use_write_ahead_log(connection)
        for setting in (
            "synchronous = FULL",  # a commit is on disk when it returns
            "fullfsync = ON",  # not only in the cache of the disk (macOS)
            "foreign_keys = ON",
            "secure_delete = ON",  # redacted data is overwritten
            "wal_autocheckpoint = 8000",  # pages; a page that is written often is copied once
            "cache_size = -16000",  # kilobytes
        ):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("belated_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Set the journal mode of a SQLite database to a write-ahead log.

    With this log, readers and the writer do not block each other. The statement is retried for up
    to `LOCK_TIMEOUT_MS`, since SQLite's busy timeout does not apply if two processes change the
    mode of a new file at the same time.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            kind = error.sqlite_errorcode & 0xFF  # the primary result code
            if kind != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _create_private_file(path: Path) -> None:
    """Create the file `path` if it does not exist, with access for its owner only.

    Access is restricted since the file contains personal data.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store is in {path.parent}, and there is no such folder.")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise type(error)(f"store {path} cannot be opened: {error.strerror}.") from None


POOL_SIZE: Final = 17
"""Number of connections to keep open: one for each thread with which the service reads."""

CONNECT_TIMEOUT_S: Final = 5
"""Maximum time in seconds to establish a connection."""

LOCK_TIMEOUT_S: Final = 5
"""Maximum time in seconds that a statement waits for a lock, such as the lock held by a writer."""

IDLE_IN_TRANSACTION_TIMEOUT_S: Final = 10
"""Time in seconds after which the server ends a session that is idle in a transaction.

The session's transaction is rolled back and its locks are released. A session is idle while its
process is stopped, or computes between two statements."""

STATEMENT_TIMEOUT_S: Final = 30
"""Maximum time in seconds that a statement may run."""

KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 15,  # seconds
    "keepalives_interval": 5,  # seconds
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
"""Parameters of libpq, PostgreSQL's client library, that make it close a connection whose server
has become unreachable."""

ISOLATION: Final = "READ COMMITTED"
"""Isolation level: a writer that has waited for the lock must see what was committed meanwhile."""

REMOVE_LIMITS: Final = sa.text(
    "SELECT set_config(name, '0', true) FROM unnest(ARRAY["
    "'lock_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout']) AS name"
)
"""SQL statement that disables, for the current transaction only, the timeouts for locks, for
statements and for idle transactions."""

_PREPARE: Final = (
    "SELECT set_config(name, value, false) "
    "FROM unnest(%s::text[], %s::text[]) AS wanted(name, value)"
    " WHERE current_setting(name) IN ('0', 'off', 'repeatable read', 'serializable')"
)


def create_postgres_engine(url: sa.URL) -> sa.Engine:
    """Return an engine for the PostgreSQL database at `url`; no connection is made yet."""
    defaults = {"connect_timeout": CONNECT_TIMEOUT_S, **KEEPALIVE}
    try:
        engine = sa.create_engine(
            url,
            isolation_level=ISOLATION,
            pool_size=POOL_SIZE,
            pool_pre_ping=True,  # a connection that broke while idle is replaced
            hide_parameters=True,
            connect_args={name: defaults[name] for name in defaults.keys() - url.query.keys()},
        )
    except ImportError:
        raise ImportError(missing_extra("A store on PostgreSQL", "psycopg", "postgres")) from None
    settings = {
        "synchronous_commit": "on",
        "default_transaction_isolation": ISOLATION.lower(),  # of statements without BEGIN
        "lock_timeout": f"{LOCK_TIMEOUT_S}s",
        "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_TIMEOUT_S}s",
        "statement_timeout": f"{STATEMENT_TIMEOUT_S}s",
    }

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:
        connection.execute(_PREPARE, (list(settings), list(settings.values())))
        connection.commit()

    return engine


STALLED_AFTER_S: Final = 5
"""Seconds without a message from a process in the middle of its statements after which its session
may be ended."""

_TERMINATE: Final = sa.text(
    "SELECT pid, pg_terminate_backend(pid) "
    "FROM pg_locks JOIN pg_stat_activity AS sessions USING (pid) "
    "WHERE locktype = 'advisory' AND datname = current_database() AND database = datid "
    "AND (classid::bigint << 32) + objid::bigint = :lock AND objsubid = 1 AND granted "
    "AND state = 'active' AND wait_event = 'ClientRead' "
    "AND state_change < clock_timestamp() - make_interval(secs => :seconds)"
)


def end_stalled_writer(engine: sa.Engine, lock_id: int) -> bool:
    """End the session that holds an advisory lock if its process has stopped sending.

    Call this after a timeout of the lock. The transaction of the session is rolled back.

    Parameters
    ----------
    engine : sa.Engine
        Engine of a PostgreSQL database.
    lock_id : int
        Id of the advisory lock.

    Returns
    -------
    bool
        Whether a session was ended. That of another database role is not ended unless this role
        may do so.
    """
    parameters = {"lock": lock_id, "seconds": STALLED_AFTER_S}
    try:
        with engine.connect() as connection:
            ended = [pid for pid, done in connection.execute(_TERMINATE, parameters) if done]
    except sa.exc.SQLAlchemyError:  # no permission, or no connection
        return False
    for pid in ended:
        LOG.warning(
            "Session of a stalled writer ended: process %d of PostgreSQL.",
            pid,
            extra={"event": "stalled_writer_ended", "pid": pid},
        )
    return bool(ended)


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
_PROBE: Final = sa.text(f"UPDATE {migrations.TABLE} SET version_num = version_num")


def now() -> int:
    """Return the current time in microseconds since 1970 (UTC)."""
    return time.time_ns() // 1000


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

    def read(self, query: sa.Select[Any]) -> list[Any]:
        """Return all rows of `query`, read in a transaction of its own."""
        with self.reading() as connection:
            return list(connection.execute(query))

    @contextmanager
    def consistent_reading(self) -> Iterator[sa.Connection]:
        """Return a context manager that begins a read transaction and returns its connection.

        All statements see the same data, which later commits do not change. The transaction may
        take any time: the limits of connections do not apply.
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
        and run for any time: the limits of connections do not apply. If another writer has stalled,
        its session is ended after a timeout of the lock; the next attempt to write can succeed.
        """
        with self._write:
            self._check_open()
            try:
                with (
                    self.writer.connect().execution_options(**_WRITES) as connection,
                    connection.begin(),
                ):
                    if self.on_postgres:
                        if not limited:
                            connection.execute(REMOVE_LIMITS)
                        connection.exec_driver_sql(LOCK_STATEMENT)
                    yield connection
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
            try:
                with self.writer.connect() as connection:
                    driver: Any = connection.connection.dbapi_connection
                    driver.execute(f"PRAGMA busy_timeout = {SCRUB_TIMEOUT_MS if wait else 0}")
                    try:
                        row = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                    finally:
                        driver.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_MS}")
                self._needs_scrub = bool(row[0])
            except (sqlite3.Error, sa.exc.SQLAlchemyError):  # such as a full disk
                self._needs_scrub = True
            return not self._needs_scrub

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
    """
    while limit is None or limit > 0:
        size = PAGE_SIZE if limit is None else min(PAGE_SIZE, limit)
        page = query.where(key > after).order_by(key if order is None else order).limit(size)
        rows = store.read(page)
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1][0]
        limit = None if limit is None else limit - size
