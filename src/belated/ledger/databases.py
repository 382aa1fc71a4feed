"""Engines for the databases that can store a ledger, SQLite and PostgreSQL, and their outages.

On PostgreSQL, limits on the time that a connection waits keep a process that is stopped while it
writes, or a server that no longer responds, from blocking all other processes. A limit that is
already set in the URL of the database or for the database role is not changed. Descriptions of
outages are derived from exceptions; they contain no data and no address of the database.
"""

import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool
from sqlalchemy.util import asbool

from belated.extras import missing_extra

LOG: Final = logging.getLogger("belated.store")

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

PING_AFTER_IDLE_S: Final = 1.0
"""Idle time in seconds after which a connection is tested before its next use.

A connection that was used more recently is not tested, since the round trip of a test would be a
considerable part of a short transaction. If such a connection is broken, its next use raises an
error, and the pool then replaces all connections."""

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

    @event.listens_for(engine, "checkout")
    def ping(connection: Any, record: ConnectionPoolEntry, proxy: object) -> None:
        if time.monotonic() - record.info.get("used_at", math.inf) > PING_AFTER_IDLE_S:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise sa.exc.InvalidatePoolError() from error

    @event.listens_for(engine, "checkin")
    def note_use(connection: object, record: ConnectionPoolEntry) -> None:
        record.info["used_at"] = time.monotonic()

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


DISK_FULL: Final = "disk full"
LOCK_TIMEOUT: Final = "lock timeout"

REASONS: Final = {
    "08": "connection lost",
    "25006": "read-only",
    "25P03": "idle in transaction for too long",
    "53100": DISK_FULL,
    "53200": "out of memory",
    "53300": "too many connections",
    "55P03": LOCK_TIMEOUT,
    "57014": "statement timeout",
    "57P01": "server stopped",
    "57P02": "server crashed",
    "57P03": "server starting or stopping",
    "SQLITE_BUSY": LOCK_TIMEOUT,
    "SQLITE_FULL": DISK_FULL,
    "SQLITE_IOERR": "disk error",
    "SQLITE_READONLY": "read-only",
}
"""Map from an error code to the reason of an outage in words.

An error code is a SQLSTATE of PostgreSQL, the first two characters of a SQLSTATE (its class), or
an error name of SQLite."""


class Outage(NamedTuple):
    """Reason why a database is unavailable."""

    reason: str
    """Reason in words, such as "disk full"."""
    code: str | None
    """SQLSTATE of PostgreSQL or error name of SQLite; None if the error has no code, for example
    because the database did not respond."""

    def __str__(self) -> str:
        return self.reason if self.code is None else f"{self.reason} ({self.code})"


def describe_outage(error: BaseException) -> Outage:
    """Return the reason of the database outage that the exception `error` indicates.

    `error` is an exception of SQLAlchemy or of a database driver, or a TimeoutError.

    >>> print(describe_outage(TimeoutError()))
    no response
    """
    original = getattr(error, "orig", None) or error
    code = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    if code is None:
        return Outage("no response" if isinstance(error, TimeoutError) else "unreachable", None)
    primary = "_".join(code.split("_")[:2])  # SQLITE_IOERR_WRITE is a kind of SQLITE_IOERR
    known = (REASONS.get(key) for key in (code, code[:2], primary))
    return Outage(next(filter(None, known), "error"), code)


class OutageLog:
    """Log of the outages of one operation of the store, such as writing.

    A message is logged when the operation fails for the first time, when it fails for another
    reason, and when it succeeds again. The message about the success contains the duration of the
    outage and the number of errors. Several threads may share an instance.

    Parameters
    ----------
    operation : str
        Name of the operation: "read", "write" or "fold".
    on_error : Callable[[str, str], None], optional
        Function that is called at each error, with the name of the operation and the reason.
    """

    def __init__(self, operation: str, on_error: Callable[[str, str], None] | None = None) -> None:
        self._operation = operation
        self.on_error = on_error
        self._lock = threading.Lock()
        self._outage: Outage | None = None
        self._errors = 0
        self._since = self._started = self._failed_at = 0.0

    def recent(self, seconds: float) -> Outage | None:
        """Return the current outage if its last error was at most `seconds` ago, else None."""
        is_recent = time.monotonic() - self._failed_at <= seconds
        return self._outage if is_recent else None

    def failed(self, error: BaseException) -> None:
        """Record that the operation failed with `error`.

        A message is logged if an outage begins, or if its reason or error code has changed. The
        message contains the reason and the error code, but not the message of `error`.
        """
        outage = describe_outage(error)
        if self.on_error is not None:
            self.on_error(self._operation, outage.reason)
        with self._lock:
            before, self._outage = self._outage, outage
            if before is None:
                self._errors, self._since, self._started = 0, time.time(), time.monotonic()
            self._errors += 1
            self._failed_at = time.monotonic()
        if before != outage:
            LOG.error(
                "Store unavailable: %s failed: %s.",
                self._operation,
                outage,
                extra={
                    "event": "store_unavailable",
                    "operation": self._operation,
                    "reason": outage.reason,
                    "code": outage.code,
                    "since": format_time(self._since),
                },
            )

    def succeeded(self) -> None:
        """Record that the operation succeeded, and log the end of an outage if there was one."""
        if self._outage is None:
            return
        with self._lock:
            before, self._outage = self._outage, None
            seconds, errors = time.monotonic() - self._started, self._errors
        if before is not None:
            LOG.warning(
                "Store available again: %s succeeded after %.1f s and %d errors.",
                self._operation,
                seconds,
                errors,
                extra={
                    "event": "store_available",
                    "operation": self._operation,
                    "reason": before.reason,
                    "since": format_time(self._since),
                    "seconds": round(seconds, 3),
                    "errors": errors,
                },
            )


def format_time(seconds: float) -> str:
    """Return a time, given in `seconds` since 1970 (UTC), as text in ISO 8601.

    >>> format_time(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
