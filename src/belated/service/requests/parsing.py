"""Parsing of requests: JSON, feedback and times, with a limit on the size of the body.

Feedback that cannot be parsed is passed to the ledger as `UnusableContent`. The ledger rejects it
with the reason found here, and puts it in the quarantine.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import Message

from belated.ledger.recording.content import UnusableContent
from belated.service.errors import ApiError, FieldError

M = TypeVar("M", bound=BaseModel)

UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
INVALID_TIME: Final = (
    "event_time must be an ISO 8601 time with a time zone, not before 1970-01-01T00:00:00Z, "
    "such as 2026-01-31T12:00:00Z."
)


MAX_PLAIN_COLONS: Final = 8
"""Maximum number of colons in a JSON text up to which `load_json` first tries a faster parser,
which does not check for duplicate keys. Its result is used only if the text has as many colons as
the object has keys, so that no key can be a duplicate."""

BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
"""Names of headers of which each request with a body has at least one."""

DECODER: Final = json.JSONDecoder()


class TooLargeError(HTTPException):
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
    limit, this function raises TooLargeError itself; if the header is not a number, it raises
    HTTPException (422). A request without a body is returned as it is.
    """
    if BODY_HEADERS.isdisjoint(dict(request.scope["headers"])):
        return request
    declared = request.headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdecimal()):
        raise HTTPException(422, "Content-Length must be a number.")
    if len(declared) > 18:  # not a plausible size, so it is not kept in `size`
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

    return StrictRequest(request.scope, receive_limited)


class StrictRequest(Request):
    """Request whose body is JSON without duplicate keys."""

    async def json(self) -> Any:
        """Return the body as a JSON value. Raises JSONDecodeError if it is not valid."""
        if not hasattr(self, "_json"):
            self._json = load_json(await self.body())
        return self._json


def load_json(raw: bytes) -> Any:
    """Return the value of the JSON text `raw`.

    Raises ValueError if `raw` is not JSON, or if a key occurs twice in an object, because it would
    not be clear which of the two values is meant.
    """
    # each key is followed by a colon, so an object with as many colons as keys has no duplicates
    colons = raw.count(b":")
    if raw[:1] == b"{" and raw[1:2] != b"\0" and 0 < colons <= MAX_PLAIN_COLONS:
        value = DECODER.decode(raw.decode("utf-8", "surrogatepass"))  # as json.loads, but faster
        if colons == len(value):
            return value
    return json.loads(raw, object_pairs_hook=_refuse_duplicates)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise json.JSONDecodeError(f"duplicate key {twice[:60]!r}", "", 0)
    return value


def parse_json(raw: bytes) -> tuple[Any, FieldError | None]:
    """Parse the JSON text `raw`; return its value and None.

    If `raw` is not valid JSON, or has duplicate keys, return `raw` decoded as a string, and the
    error.

    >>> parse_json(b'{"a": 1}')
    ({'a': 1}, None)
    >>> parse_json(b"{")[0]
    '{'
    """
    try:
        return load_json(raw), None
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or "it cannot be decoded"
        text = raw.decode(errors="backslashreplace")
        return text, FieldError(None, f"The body is not JSON: {reason}.")


def parse_model(raw: bytes, content_type: str | None, model: type[M]) -> M:
    """Parse the body of a request as FastAPI does, in the calling thread.

    Parameters
    ----------
    raw : bytes
        Body of the request.
    content_type : str, optional
        Content type of the request; None if it has none.
    model : type
        Model of the body.

    Returns
    -------
    RequestModel
        Instance of `model`.

    Raises
    ------
    RequestValidationError
        If the body is not JSON, or not valid for the model.
    """
    if not raw:
        raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": ""}])
    kind = (content_type or "application/json").partition(";")[0].strip().lower()
    body: Any = raw
    if kind.startswith("application/") and kind.endswith(("/json", "+json")):
        body, error = parse_json(raw)
        if error is not None:
            raise ApiError(422, error.message)
    try:
        return model.model_validate(body, from_attributes=True)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in errors], body=body
        ) from None


class ParsedFeedback(NamedTuple):
    """Content and time of feedback, as recorded in the ledger."""

    content: Any  # JSON value without event_time; UnusableContent if there is an error
    event_time: int | None = None  # microseconds since 1970 (UTC)


def parse_feedback(body: Any, error: FieldError | None = None) -> ParsedFeedback:
    """Return the feedback in the JSON value `body`, with event_time separated from the content.

    `error` is the error found while parsing the body, or None. If there is an error, or if
    event_time is invalid, the content of the result is an `UnusableContent` with the reason. The
    ledger rejects it and puts the whole `body` in the quarantine.
    """
    if error is None:
        if not isinstance(body, dict) or "event_time" not in body:
            return ParsedFeedback(body)
        content = dict(body)
        time = content.pop("event_time")
        event_time = parse_time(time)
        if event_time is not None or time is None:
            return ParsedFeedback(content, event_time)
        error = FieldError("event_time", INVALID_TIME)
    return ParsedFeedback(UnusableContent(body, *error))


def parse_time(text: Any) -> int | None:
    """Return the time `text` in microseconds since 1970 (UTC).

    Return None if `text` is not a string in ISO 8601 format with a time zone, or if the time is
    before 1970.

    >>> parse_time("1970-01-01T00:00:01Z"), parse_time("1970-01-01")
    (1000000, None)
    """
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None or time < UNIX_EPOCH:
            return None
        return (time - UNIX_EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError):
        return None
