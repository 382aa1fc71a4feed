"""Request parsing: size limit, JSON, feedback and times.

Feedback that cannot be parsed goes to the ledger as it is. The ledger rejects it and keeps it in
the quarantine; a `FieldError` explains the error in terms of the request.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import Message

from belated.service.errors import FieldError

UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
INVALID_TIME: Final = (
    "event_time must be an ISO 8601 time with a time zone, such as 2026-01-31T12:00:00Z."
)


class TooLargeError(HTTPException):
    """Body of more than `max_bytes`; `size` has the number of bytes `declared` or `read`, if known.

    The quarantine keeps `size` in place of the body.
    """

    def __init__(self, max_bytes: int, **size: int) -> None:
        super().__init__(413, f"Body too large: at most {max_bytes} bytes are allowed.")
        self.size = size


def limit_body(request: Request, max_bytes: int) -> Request:
    """Return `request` such that reading more than `max_bytes` of its body raises TooLargeError.

    A larger Content-Length raises at once.
    """
    declared = request.headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdecimal()):
        raise HTTPException(422, "Content-Length must be a number.")
    if len(declared) > 18:  # not a plausible size, and not kept
        raise TooLargeError(max_bytes)
    if int(declared) > max_bytes:
        raise TooLargeError(max_bytes, declared=int(declared))
    receive, read = request.receive, 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > max_bytes:
            raise TooLargeError(max_bytes, read=read)
        return message

    return Request(request.scope, receive_limited)


def parse_json(raw: bytes) -> tuple[Any, FieldError | None]:
    """Return the value of the JSON text `raw` and None; or `raw` as a string and the error.

    >>> parse_json(b'{"a": 1}')
    ({'a': 1}, None)
    >>> parse_json(b"{")[0]
    '{'
    """
    try:
        return json.loads(raw), None
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or "it cannot be decoded"
        text = raw.decode(errors="backslashreplace")
        return text, FieldError(None, f"The body is not JSON: {reason}.")


class ParsedFeedback(NamedTuple):
    """Feedback as the ledger takes it."""

    content: Any  # JSON value without event_time; the whole body if there is an error
    event_time: int | None = None  # microseconds since 1970
    error: FieldError | None = None


def parse_feedback(body: Any) -> ParsedFeedback:
    """Return the JSON value `body` with its event_time separated and parsed."""
    if not isinstance(body, dict) or "event_time" not in body:
        return ParsedFeedback(body)
    content = dict(body)
    time = content.pop("event_time")
    event_time = parse_time(time)
    if event_time is None and time is not None:
        # With event_time in the content the ledger rejects the body, and quarantines all of it.
        return ParsedFeedback(body, None, FieldError("event_time", INVALID_TIME))
    return ParsedFeedback(content, event_time)


def parse_time(text: Any) -> int | None:
    """Return an ISO 8601 time with a time zone, `text`, in microseconds since 1970.

    None means that `text` is something else.

    >>> parse_time("1970-01-01T00:00:01Z"), parse_time("1970-01-01")
    (1000000, None)
    """
    try:
        time = datetime.fromisoformat(text)
        return None if time.tzinfo is None else (time - UNIX_EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError):
        return None
