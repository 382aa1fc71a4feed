"""Format of the log: lines of text, or one JSON object on each line."""

import json
import logging
from typing import Any, Final

from belated.ledger.engines.outage_log import format_time
from belated.service.operations.request_ids import get_request_id

STANDARD_FIELDS: Final = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""Attributes that every log record has. All other attributes were passed as `extra`."""


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
