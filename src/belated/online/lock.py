"""PlannerLock: of all that host one ledger, one plans; if it dies, another may."""

import os
from pathlib import Path
from typing import IO, Final, Protocol

import sqlalchemy as sa

from belated.ledger.store import Store

PLANNER: Final = int.from_bytes(b"planner", "big")
"""The advisory lock that the planner holds on PostgreSQL."""


class PlannerLock(Protocol):
    """A lock that is held until it is released, or its process or its connection dies."""

    def acquire(self) -> bool:
        """Whether it is held now: taken, if it was free, or held still."""

    def release(self) -> None:
        """Let another have it."""


def lock_of(store: Store) -> PlannerLock:
    """The lock of the ledger in this database."""
    if store.on_postgres:
        return DatabaseLock(store.engine)
    file = store.engine.url.database
    if file in (None, "", ":memory:"):
        return NoLock()
    return FileLock(Path(str(file) + ".planner"))


class NoLock:
    """For a ledger in memory, which nobody shares."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


class FileLock:
    """A lock on a file beside the database; the system frees it when the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        import fcntl  # there is none on Windows

        if self._file is None:
            file = open(self._path, "a", opener=_private)  # noqa: SIM115, it stays open
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return False
            self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _private(path: str, flags: int) -> int:
    """Open a file for its owner alone."""
    return os.open(path, flags, 0o600)


class DatabaseLock:
    """An advisory lock on a connection of its own; the server frees it when that ends."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    def acquire(self) -> bool:
        if self._connection is not None and self._alive(self._connection):
            return True
        self.release()
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        # out of the pool, so that closing it ends it
        connection.detach()
        if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(PLANNER))):
            self._connection = connection
            return True
        connection.close()
        return False

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @staticmethod
    def _alive(connection: sa.Connection) -> bool:
        try:
            connection.scalar(sa.select(1))
        except sa.exc.DBAPIError:
            return False
        return True
