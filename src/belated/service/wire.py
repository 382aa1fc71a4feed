"""Feedback as it comes: JSON becomes what the ledger is told, and nothing is judged.

What cannot be read goes to the ledger as it is, which refuses it and keeps it with the reason; the
complaint says it in the caller's words.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NO_TIME: Final = "event_time must be a time with its zone, such as 2026-01-31T12:00:00Z."


class Complaint(NamedTuple):
    """What is wrong, and in which field."""

    field: str | None
    message: str


class Incoming(NamedTuple):
    """What the ledger is to be told."""

    content: Any
    event_time: int | None = None
    complaint: Complaint | None = None


def parse(raw: bytes) -> tuple[Any, Complaint | None]:
    """JSON; what is none is returned as a text, with a complaint.

    >>> parse(b'{"a": 1}')
    ({'a': 1}, None)
    >>> parse(b"{")[0]
    '{'
    """
    try:
        return json.loads(raw), None
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", None) or "it cannot be decoded"
        text = raw.decode(errors="backslashreplace")
        return text, Complaint(None, f"The body is not JSON: {why}.")


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))


def write(body: Any) -> bytes:
    """JSON."""
    return _ENCODER.encode(body).encode()


def read(given: Any) -> Incoming:
    """Feedback without the time at which it happened, which goes beside it."""
    if not isinstance(given, dict) or "event_time" not in given:
        return Incoming(given)
    content = dict(given)
    time = content.pop("event_time")
    event_time = microseconds(time)
    if event_time is None and time is not None:
        # the ledger refuses it, and keeps it, as it came
        return Incoming(given, None, Complaint("event_time", NO_TIME))
    return Incoming(content, event_time)


def microseconds(given: Any) -> int | None:
    """A time in ISO 8601 with its zone, in microseconds since 1970; None if it is none.

    >>> microseconds("1970-01-01T00:00:01Z"), microseconds("1970-01-01")
    (1000000, None)
    """
    try:
        time = datetime.fromisoformat(given)
        return None if time.tzinfo is None else (time - EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError):
        return None
