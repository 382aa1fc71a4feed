"""Creation of the PostgreSQL engine, with limits on the time that a connection waits.

The limits keep a process that is stopped while it writes, or a server that no longer responds, from
blocking all other processes. A limit that is set in the URL or for the role is kept.
"""

import math
import time
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry

from belated.extras import missing_extra

POOL_SIZE: Final = 17
"""Number of connections to keep open; equal to the number of threads of the service that read."""

CONNECT_TIMEOUT_S: Final = 5
"""Maximum time in seconds to establish a connection."""

LOCK_TIMEOUT_S: Final = 5
"""Maximum time in seconds that a statement waits for a lock, such as the lock of all writers."""

IDLE_IN_TRANSACTION_TIMEOUT_S: Final = 10
"""Time in seconds after which the server ends a session that is idle in a transaction.

The session's transaction is rolled back and its locks are released. A session is idle if its
process is stopped, or computes for longer than this between two statements."""

STATEMENT_TIMEOUT_S: Final = 30
"""Maximum time in seconds that a statement may run."""

PING_AFTER_IDLE_S: Final = 1.0
"""Time in seconds for which a connection must have been idle to be tested before its next use.

A test is a round trip, which would be a considerable part of a short transaction. A connection that
breaks within this time causes an error when it is used, after which all others are replaced."""

KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 15,  # seconds
    "keepalives_interval": 5,  # seconds
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
"""Parameters of libpq that end a connection whose server cannot be reached any more."""

REMOVE_LIMITS: Final = sa.text(
    "SELECT set_config(name, '0', true) FROM unnest(ARRAY["
    "'lock_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout']) AS name"
)
"""Statement that removes all limits on waiting until the end of the transaction."""

_PREPARE: Final = (
    "SELECT set_config(name, value, false) "
    "FROM unnest(%s::text[], %s::text[]) AS wanted(name, value)"
    " WHERE current_setting(name) IN ('0', 'off')"
)


def create_postgres_engine(url: sa.URL) -> sa.Engine:
    """Return an engine for the PostgreSQL database at `url`; no connection is made yet."""
    defaults = {"connect_timeout": CONNECT_TIMEOUT_S, **KEEPALIVE}
    try:
        # a writer that has waited for the lock must see the commits of the previous writer
        engine = sa.create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_size=POOL_SIZE,
            hide_parameters=True,
            connect_args={name: defaults[name] for name in defaults.keys() - url.query.keys()},
        )
    except ImportError:
        raise ImportError(missing_extra("A store on PostgreSQL", "psycopg", "postgres")) from None
    settings = {
        "synchronous_commit": "on",
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
