"""Outages of the database: their reasons, and a log of when they begin and end.

Descriptions of outages are derived from exceptions; they contain no data and no address of the
database.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

LOG: Final = logging.getLogger("belated.store")

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
            message = f"Store unavailable: {self._operation} failed: {outage}."
            self._write(logging.ERROR, message, "store_unavailable", outage, code=outage.code)

    def succeeded(self) -> None:
        """Record that the operation succeeded, and log the end of an outage if there was one."""
        if self._outage is None:
            return
        with self._lock:
            before, self._outage = self._outage, None
            seconds, errors = time.monotonic() - self._started, self._errors
        if before is not None:
            message = (
                f"Store available again: {self._operation} succeeded after {seconds:.1f} s and "
                f"{errors} errors."
            )
            facts = {"seconds": round(seconds, 3), "errors": errors}
            self._write(logging.WARNING, message, "store_available", before, **facts)

    def _write(self, level: int, message: str, event: str, outage: Outage, **facts: object) -> None:
        known = {"operation": self._operation, "reason": outage.reason}
        since = format_time(self._since)
        LOG.log(level, message, extra={"event": event, **known, "since": since, **facts})


def format_time(seconds: float) -> str:
    """Return a time, given in `seconds` since 1970 (UTC), as text in ISO 8601.

    >>> format_time(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
