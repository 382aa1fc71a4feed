"""Creation of the PostgreSQL engine, with limits on the time that a connection waits.

The limits keep a process that is stopped while it writes, or a server that no longer responds, from
blocking all other processes. A limit that is already set in the URL of the database or for the
database role is not changed.
"""

import math
import time
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry

from belated.extras import missing_extra

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
