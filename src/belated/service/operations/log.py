"""Log of the service: its format (text or JSON), and a log of limits that were exceeded."""

import json
import logging
import math
import time
from collections.abc import Callable
from typing import Any, Final

from belated.ledger.outages import format_time
from belated.service.operations.middleware import get_request_id

LOG: Final = logging.getLogger("belated.service")

STANDARD_FIELDS: Final = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""Attributes that every log record has. All other attributes were passed as `extra`."""
LOG_INTERVAL_S: Final = 10.0
"""Minimum time in seconds between two log lines about the same limit."""


class TextFormatter(logging.Formatter):
    """Formatter of lines of text. A line logged during a request ends with the request's id."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the text of `record`, with the id of the request but without the traceback."""
        text, id = super().formatMessage(record), get_request_id()
        return text if id is None else f"{text} [request {id}]"


class JsonFormatter(logging.Formatter):
    """Formatter of JSON objects, which contain the id of the request and the fields in `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return `record` as a JSON object on one line."""
        line: dict[str, Any] = {
            "time": format_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": get_request_id(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in STANDARD_FIELDS}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_log(*, as_json: bool, log_requests: bool) -> None:
    """Write the log of this process to stderr.

    Each line is a JSON object if `as_json` is true, and text otherwise. If `log_requests` is true,
    each request is logged.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("belated").setLevel("INFO")
    logging.getLogger("belated.service.access").setLevel("INFO" if log_requests else "WARNING")


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
        self._logged: dict[str, tuple[float, int]] = {}  # last line, and hits since then

    def hit(self, limit: str, message: str) -> None:
        """Log `message`, unless this `limit` was logged less than `LOG_INTERVAL_S` ago.

        The next line about this limit says how often it was exceeded without being logged.
        """
        now = self._clock()
        since, unlogged = self._logged.get(limit, (-math.inf, 0))
        if now - since < LOG_INTERVAL_S:
            self._logged[limit] = since, unlogged + 1
            return
        self._logged[limit] = now, 0
        extra = {"event": "limit", "limit": limit, "unlogged": unlogged}
        suffix = f" ({unlogged} more times since the last line)" if unlogged else ""
        LOG.warning("Limit hit: %s%s", message, suffix, extra=extra)
