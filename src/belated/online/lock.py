"""Planner lock: lets one host per ledger plan; another takes over when its process dies."""

from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import filelock
import sqlalchemy as sa

from belated.ledger.store import Store, is_in_memory

PLANNER_LOCK_ID: Final = int.from_bytes(b"planner", "big")
"""Id of the advisory lock that the planner holds on PostgreSQL."""


class PlannerLock(Protocol):
    """Lock that is held until it is released, or its process or database connection ends."""

    def acquire(self) -> bool:
        """Acquire the lock if it is free, without waiting; return whether it is held."""

    def release(self) -> None:
        """Release the lock if it is held."""


def create_lock(store: Store) -> PlannerLock:
    """Return the planner lock of the ledger in `store`, not yet acquired."""
    url = store.engine.url
    if store.on_postgres:
        return DatabaseLock(store.engine)
    return NoLock() if is_in_memory(url) else FileLock(Path(f"{url.database}.planner"))


class NoLock:
    """Lock of a ledger in memory, which no other process can share."""

    def acquire(self) -> bool:
        """Return True."""
        return True

    def release(self) -> None:
        """Do nothing."""


class FileLock:
    """Lock on a file beside the database; the operating system frees it when the process ends.

    Parameters
    ----------
    path : Path
        The file, which is created with access for its owner only.
    """

    def __init__(self, path: Path) -> None:
        # not thread-local, since a host may be stopped by another thread than its own
        self._lock = filelock.FileLock(path, mode=0o600, thread_local=False)

    def acquire(self) -> bool:
        """Acquire the lock if it is free; return whether it is held."""
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
    """Advisory lock on a connection of its own; the server frees it when the connection ends.

    Parameters
    ----------
    engine : sa.Engine
        Engine of a PostgreSQL database.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    def acquire(self) -> bool:
        """Acquire the lock if it is free; return whether it is held."""
        if self._connection is not None and self._is_alive(self._connection):
            return True
        self.release()
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # from the pool, so that close() ends the connection
        if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(PLANNER_LOCK_ID))):
            self._connection = connection
            return True
        connection.close()
        return False

    def release(self) -> None:
        """Release the lock if it is held."""
        if self._connection is not None:
            # the server would free it only some time after the connection is closed
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
