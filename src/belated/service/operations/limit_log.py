"""Log of limits that were exceeded. Each limit is logged at most once in `LOG_INTERVAL_S`."""

import logging
import time
from collections.abc import Callable
from typing import Final

LOG: Final = logging.getLogger("belated.service")

LOG_INTERVAL_S: Final = 10.0
"""Minimum time in seconds between two log lines about the same limit."""


class LimitLog:
    """Log of limits that were exceeded, with at most one line in `LOG_INTERVAL_S` for each limit.

    Many refused clients therefore do not fill the log.

    Parameters
    ----------
    clock : Callable[[], float]
        Returns a monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged_at: dict[str, float] = {}
        self._unlogged: dict[str, int] = {}

    def hit(self, limit: str, message: str) -> None:
        """Log `message`, unless this `limit` was logged less than `LOG_INTERVAL_S` ago.

        The next line about this limit says how often it was exceeded without being logged.
        """
        now, since = self._clock(), self._logged_at.get(limit)
        if since is not None and now - since < LOG_INTERVAL_S:
            self._unlogged[limit] = self._unlogged.get(limit, 0) + 1
            return
        self._logged_at[limit] = now
        unlogged = self._unlogged.pop(limit, 0)
        extra = {"event": "limit", "limit": limit, "unlogged": unlogged}
        suffix = f" ({unlogged} more times since the last line)" if unlogged else ""
        LOG.warning("Limit hit: %s%s", message, suffix, extra=extra)
