"""Descriptions of database outages, derived from exceptions.

A description contains no data and no address of the database.
"""

from typing import Final, NamedTuple

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
