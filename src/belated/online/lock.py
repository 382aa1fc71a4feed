"""Planner lock of a ledger. Only one host at a time can hold the lock, and only this host plans.

When the process of the host ends, the lock is released, and another host can acquire it.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import filelock
import sqlalchemy as sa

from belated.ledger.store import Store, is_in_memory

PLANNER_LOCK_ID: Final = int.from_bytes(b"planner", "big")
"""Id of the PostgreSQL advisory lock that the planning host holds."""


class PlannerLock(Protocol):
    """Lock that lets only one host per ledger plan.

    The lock is held until it is released, or until the process or the database connection of the
    host ends.
    """

    def acquire(self) -> bool:
        """Try to acquire the lock without waiting; return whether the lock is now held."""

    def release(self) -> None:
        """Release the lock if it is held."""


def create_lock(store: Store) -> PlannerLock:
    """Return the planner lock of the ledger in `store`, not yet acquired."""
    url = store.engine.url
    if store.on_postgres:
        return DatabaseLock(store.engine)
    return NoLock() if is_in_memory(url) else FileLock(Path(f"{url.database}.planner"))


class NoLock:
    """Planner lock for a ledger in memory. It is always free, since no other process can plan."""

    def acquire(self) -> bool:
        """Return True: the lock can always be acquired."""
        return True

    def release(self) -> None:
        """Do nothing."""


class FileLock:
    """Planner lock of a SQLite ledger: lock on a file next to the database file.

    The operating system releases the lock when the process ends.

    Parameters
    ----------
    path : Path
        Path of the file to lock. The file is created with access for its owner only.
    """

    def __init__(self, path: Path) -> None:
        # not thread-local, since any thread may stop a host
        self._lock = filelock.FileLock(path, mode=0o600, thread_local=False)

    def acquire(self) -> bool:
        """Try to acquire the lock without waiting; return whether the lock is now held."""
        if not self._lock.is_locked:
            try:
                self._lock.acquire(blocking=False)
            except filelock.Timeout:
                return False
        return True

    def release(self) -> None:
        """Release the lock if it is held."""
        self._lock.release()


class DatabaseLock:
    """Planner lock of a PostgreSQL ledger: advisory lock held by a separate connection.

    The server releases the lock when the connection ends.

    Parameters
    ----------
    engine : sa.Engine
        Engine of a PostgreSQL database.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    def acquire(self) -> bool:
        """Try to acquire the lock without waiting; return whether the lock is now held."""
        if self._connection is not None and self._is_alive(self._connection):
            return True
        self.release()
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(PLANNER_LOCK_ID))):
            connection.detach()  # from the pool, so that close() ends the connection
            self._connection = connection
            return True
        connection.close()
        return False

    def release(self) -> None:
        """Release the lock if it is held."""
        if self._connection is not None:
            # otherwise the server would release the lock only some time after the connection ends
            with suppress(sa.exc.DBAPIError):
                if not self._connection.invalidated:
                    self._connection.scalar(sa.select(sa.func.pg_advisory_unlock(PLANNER_LOCK_ID)))
            self._connection.close()
            self._connection = None

    @staticmethod
    def _is_alive(connection: sa.Connection) -> bool:
        try:
            connection.scalar(sa.select(1))
        except sa.exc.DBAPIError:
            return False
        return True
