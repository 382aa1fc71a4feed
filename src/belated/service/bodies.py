"""Bodies in JSON: parsing of requests, with a limit on the size, and outcomes of events.

Feedback that cannot be parsed is passed to the ledger as `UnusableContent`. The ledger rejects it
with the reason found here, and puts it in the quarantine.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.types import Message

from belated.ledger.content import UnusableContent
from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    Invalid,
    NotFound,
    Outcome,
    Recorded,
)
from belated.service.errors import ApiError, describe_faults, error_json

M = TypeVar("M", bound=BaseModel)

UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
INVALID_TIME: Final = (
    "event_time must be an ISO 8601 time with a time zone, not before 1970-01-01T00:00:00Z, "
    "such as 2026-01-31T12:00:00Z."
)
NO_OBJECT: Final = "The body must be a JSON object, with Content-Type: application/json."

BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
"""Names of headers of which each request with a body has at least one."""


class TooLargeError(ApiError):
    """Error because the body of a request has more than `max_bytes` bytes.

    `size` has the key `declared` with the value of Content-Length, or the key `read` with the
    number of bytes read, or no key if neither is known. The quarantine keeps `size` in place of the
    body.
    """

    def __init__(self, max_bytes: int, **size: int) -> None:
        super().__init__(413, f"Body too large: at most {max_bytes} bytes are allowed.")
        self.size = size


def limit_body(request: Request, max_bytes: int) -> Request:
    """Return a copy of `request` in which the size of the body is limited to `max_bytes`.

    Reading more bytes from the copy raises TooLargeError. If the header Content-Length exceeds the
    limit, this function raises TooLargeError itself. A request without a body is returned as it is.
    """
    if BODY_HEADERS.isdisjoint(dict(request.scope["headers"])):
        return request
    declared = int(request.headers.get("content-length", 0))  # checked by the HTTP server
    if declared > max_bytes:
        raise TooLargeError(max_bytes, declared=declared)
    receive, read = request.receive, 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > max_bytes:
            raise TooLargeError(max_bytes, read=read)
        return message

    return Request(request.scope, receive_limited)


def parse_json(raw: bytes) -> tuple[Any, ApiError | None]:
    """Parse the JSON text `raw`; return its value and None.

    If `raw` is not valid JSON, return `raw` decoded as a string, and the error. If a key occurs
    twice in an object, this is an error too, because it would not be clear which of the two values
    is meant.

    >>> parse_json(b'{"a": 1}')
    ({'a': 1}, None)
    >>> parse_json(b"{")[0]
    '{'
    """
    try:
        return json.loads(raw, object_pairs_hook=_refuse_duplicates), None
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or "it cannot be decoded"
        text = raw.decode(errors="backslashreplace")
        return text, ApiError(422, f"The body is not JSON: {reason}.")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise json.JSONDecodeError(f"duplicate key {twice[:60]!r}", "", 0)
    return value


def parse_body(raw: bytes, content_type: str | None, model: type[M]) -> M:
    """Return the body `raw` of a request as an instance of `model`.

    Raises ApiError (422) if the body is not JSON according to `content_type`, the header of the
    request, or not valid for the model.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if not raw:
        raise ApiError(422, "The body must be a JSON object, but it is missing.")
    if not (kind.startswith("application/") and kind.endswith(("/json", "+json"))):
        raise ApiError(422, NO_OBJECT)
    body, error = parse_json(raw)
    if error is not None:
        raise error
    if not isinstance(body, dict):
        raise ApiError(422, NO_OBJECT)
    try:
        return model.model_validate(body)
    except ValidationError as invalid:
        raise describe_faults(invalid.errors(include_url=False), model.model_fields) from None


async def read_body(request: Request, model: type[M]) -> M:
    """Return the body of `request` as an instance of `model`; see `parse_body`."""
    return parse_body(await request.body(), request.headers.get("content-type"), model)


def outcome_response(outcome: Outcome) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the body of the response for the `outcome` of an event.

    >>> outcome_response(Recorded(7))
    (201, {'result': 'recorded', 'seq': 7})
    """
    match outcome:
        case Recorded(seq):
            return 201, {"result": "recorded", "seq": seq}
        case AlreadyRecorded(seq):
            return 200, {"result": "already recorded", "seq": seq}
        case Conflict(reason):
            return 409, error_json(409, reason)
        case NotFound(reason):
            return 404, error_json(404, reason)
        case DataWithdrawn(reason):
            return 410, error_json(410, reason)
        case Invalid(reason, field):
            return 422, error_json(422, reason, field)


def check_outcome(outcome: Outcome) -> Recorded | AlreadyRecorded:
    """Return `outcome` if the event is in the ledger; raise ApiError if the event was rejected."""
    if isinstance(outcome, Recorded | AlreadyRecorded):
        return outcome
    status, body = outcome_response(outcome)
    raise ApiError(status, body["message"], field=body["field"])


def parse_feedback(body: Any, error: ApiError | None = None) -> tuple[Any, int | None]:
    """Return the feedback in the JSON value `body`: its content, and event_time in microseconds.

    `error` is the error found while parsing the body, or None. If there is an error, or if
    event_time is invalid, the content of the result is an `UnusableContent` with the reason. The
    ledger rejects it and puts the whole `body` in the quarantine.
    """
    if error is not None:
        return UnusableContent(body, error.field, error.message), None
    if not isinstance(body, dict) or "event_time" not in body:
        return body, None
    content = dict(body)
    try:
        return content, parse_time(content.pop("event_time"))
    except ApiError as invalid:
        return parse_feedback(body, invalid)


def parse_time(text: Any) -> int | None:
    """Return the time `text` in microseconds since 1970 (UTC); None if `text` is None.

    Raises ApiError (422) unless `text` is a time since 1970 in ISO 8601, with a time zone.

    >>> parse_time("1970-01-01T00:00:01Z")
    1000000
    """
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None and time >= UNIX_EPOCH:
            return (time - UNIX_EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ApiError(422, INVALID_TIME, field="event_time")
