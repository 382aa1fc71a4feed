"""Log messages for the beginning and the end of each outage of the store."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from belated.ledger.engines.outages import Outage, describe_outage

LOG: Final = logging.getLogger("belated.store")


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
        """Record that the operation succeeded, and log the end of an outage if there was one."""
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
    """Return a time, given in `seconds` since 1970 (UTC), as text in ISO 8601.

    >>> format_time(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
