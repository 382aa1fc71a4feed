"""End of PostgreSQL sessions that hold the lock of the writers, and whose process has stopped.

A process sends several statements together, without waiting for the result of each. If it is
stopped after it has sent some of them, the server waits for the rest. It does not regard the
session as idle then, so that none of the timeouts in `belated.ledger.engines.postgres` ends it.
"""

import logging
from typing import Final

import sqlalchemy as sa

LOG: Final = logging.getLogger("belated.store")

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
