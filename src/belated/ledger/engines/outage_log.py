"""Log of the changes between an available and an unavailable store."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from belated.ledger.engines.outages import Outage, describe_outage

LOG: Final = logging.getLogger("belated.store")


class OutageLog:
    """Log of the outages of one operation of the store.

    A line is written when the first error occurs, when the reason changes, and when the operation
    succeeds again; the last one has the duration and the number of errors. Several threads may
    share an instance.

    Parameters
    ----------
    operation : str
        Name of the operation: "read", "write" or "fold".
    on_error : Callable[[str, str], None], optional
        Function that is called with the operation and the reason of each error.
    """

    def __init__(self, operation: str, on_error: Callable[[str, str], None] | None = None) -> None:
        self._operation = operation
        self.on_error = on_error
        self._lock = threading.Lock()
        self._outage: Outage | None = None
        self._errors = 0
        self._since = self._started = self._failed_at = 0.0

    def recent(self, seconds: float) -> Outage | None:
        """Return the outage that has not ended, if its last error is at most `seconds` ago."""
        is_recent = time.monotonic() - self._failed_at <= seconds
        return self._outage if is_recent else None

    def failed(self, error: BaseException) -> None:
        """Note that the operation failed with `error`. Its message is not logged."""
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
        """Note that the operation succeeded."""
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
    """Return `seconds` since 1970 (UTC) in ISO 8601.

    >>> format_time(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
