"""Creation of the SQLite engine, with settings for durability and for the deletion of data."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import asbool

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
