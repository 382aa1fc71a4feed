"""Error responses of the API. Their bodies have the fields of `models.common.Error`."""

import logging
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from belated.ledger.engines.outages import describe_outage
from belated.ledger.outcomes import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    Invalid,
    NotFound,
    Outcome,
    Recorded,
)
from belated.ledger.validation import check_episode_id, check_name
from belated.service.models.common import FIELDS_ERROR, Error
from belated.service.models.problems import NewProblem

LOG: Final = logging.getLogger("belated.service")

ERROR_CODES: Final = {
    401: "unauthenticated",
    403: "forbidden",
    404: "unknown",
    405: "method not allowed",
    408: "timeout",
    409: "conflict",
    410: "gone",
    413: "too large",
    415: "unsupported",
    422: "refused",
    429: "too many requests",
    431: "too large",
    500: "internal",
    503: "unavailable",
}
"""Value of the field `error` in the body of an error response, by HTTP status."""
DESCRIPTIONS: Final = {
    401: "Missing or invalid token.",
    403: "The token does not allow this request.",
    404: "Problem, episode, subject or version not found.",
    409: "Different content has been recorded; the same content again is answered with 200.",
    410: "The data of this episode has been withdrawn.",
    413: "Body too large.",
    415: "Unsupported content type.",
    422: "Invalid request; `field` says where.",
    429: "Too many requests with this token, or of this kind. Try again after Retry-After.",
    500: "Internal error. The request can be retried.",
    503: "The store is unavailable, or the queue is full. Try again.",
}
"""Descriptions of the error responses in the OpenAPI schema, by HTTP status."""
RETRY_AFTER_S: Final = 1
"""Seconds after which a client may retry a request that got a 429 or a 503."""
FIRST_FIELD: Final = re.compile(r"([a-z_]+)(?:\[(?:\d+|'[^']*')\])*(?= )")
"""Name of a field at the beginning of a message, with indices."""
FORMATS: Final[dict[str, Callable[[str, object], str]]] = {
    "id": check_episode_id,
    "name": check_name,
}
"""Functions that raise ValueError if a field has an invalid format, by name of the field."""
NOT_AN_OBJECT: Final = ("model_attributes_type", "model_type", "dict_type")
"""Pydantic's error types for a body that is not an object, or that was not parsed as JSON."""


@dataclass(eq=False)
class ApiError(Exception):
    """HTTP error response, raised to reject a request."""

    status: int
    """HTTP status of the response."""
    message: str
    """Explanation for the caller."""
    field: str | None = None
    """Invalid field or parameter, such as "rewards[3]"; None if no single one is invalid."""
    headers: dict[str, str] | None = None
    """Additional headers of the response; None for none."""


REJECTIONS: Final = (ApiError, RequestValidationError, HTTPException)
"""Types of the exceptions that reject a request."""


class FieldError(NamedTuple):
    """Error found while parsing the body of a request."""

    field: str | None  # invalid field; None if the body as a whole is invalid
    message: str


def error_json(status: int, message: str, field: str | None = None) -> dict[str, Any]:
    """Return the body of an error response.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        Explanation for the caller.
    field : str | None
        Invalid field or parameter of the request; None if no single one is invalid.

    Returns
    -------
    dict[str, Any]
        JSON object with the fields of `models.common.Error`.

    Examples
    --------
    >>> error_json(404, "Problem 'x' not found.")
    {'error': 'unknown', 'message': "Problem 'x' not found.", 'field': None}
    """
    return {"error": ERROR_CODES.get(status, "refused"), "message": message, "field": field}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the error responses with these HTTP `statuses`."""
    return {
        status: {
            "model": Error,
            "description": DESCRIPTIONS[status],
            "content": {"application/json": {"example": error_json(status, DESCRIPTIONS[status])}},
        }
        for status in statuses
    }


def unavailable(reason: str) -> ApiError:
    """Return an ApiError (503) that states the `reason` and tells the client to retry later."""
    return ApiError(503, f"{reason} Try again.", headers={"Retry-After": str(RETRY_AFTER_S)})


def too_many(reason: str) -> ApiError:
    """Return an ApiError (429) that states the `reason` and tells the client to retry later."""
    return ApiError(429, f"{reason} Try again.", headers={"Retry-After": str(RETRY_AFTER_S)})


def store_unavailable(error: BaseException) -> ApiError:
    """Return an ApiError (503) for `error`, which indicates that the database is unavailable."""
    return unavailable(f"The store is unavailable: {describe_outage(error)}.")


def error_response(error: ApiError) -> JSONResponse:
    """Return the HTTP response that reports `error`."""
    body = error_json(error.status, error.message, error.field)
    return JSONResponse(body, error.status, headers=error.headers)


def unexpected_error_response(request: Request, error: Exception) -> JSONResponse:
    """Log an unexpected `error` raised while handling `request`, and return a 500 response.

    The type and the traceback of the error are logged. Its message is not logged, because it may
    contain personal data.
    """
    stack = "".join(traceback.format_tb(error.__traceback__))
    route = getattr(request.scope.get("route"), "path", "?")
    LOG.error("%s %s failed with %s:\n%s", request.method, route, type(error).__name__, stack)
    return error_response(ApiError(500, DESCRIPTIONS[500]))


def outcome_response(
    outcome: Outcome, error: FieldError | None = None
) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the body of the response for the `outcome` of an event.

    `error` is the error found while parsing the request, or None. If the outcome is `Invalid`, the
    response may state `error` instead of the reason in the outcome, because `error` is more
    precise. This is the case if `error` concerns event_time, or the same field as the outcome.

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
            if error is not None and error.field in (field, "event_time"):
                field, reason = error
            return 422, error_json(422, reason, field)


def check_outcome(outcome: Outcome) -> Recorded | AlreadyRecorded:
    """Return `outcome` if the event is in the ledger; raise ApiError if the event was rejected."""
    if isinstance(outcome, Recorded | AlreadyRecorded):
        return outcome
    status, body = outcome_response(outcome)
    raise ApiError(status, body["message"], field=body["field"])


def validation_error(error: RequestValidationError) -> ApiError:
    """Return an ApiError (422) for the first field that is invalid according to `error`.

    If the field may have several types, `error` has entries for each of them. The entries with the
    longest location belong to the type that the value resembles most.
    """
    errors = [(locate(entry, error.body), entry) for entry in error.errors()]
    location, first = errors[0]
    if first["type"] == "json_invalid":
        return ApiError(422, f"The body is not JSON: {first['ctx']['error']}.")
    if not location and first["type"] == "missing":
        return ApiError(422, "The body must be a JSON object, but it is missing.")
    if not location and first["type"] in NOT_AN_OBJECT:
        return ApiError(422, "The body must be a JSON object, with Content-Type: application/json.")
    same = [each for each in errors if each[0][:1] == location[:1]]
    location, first = max(same, key=lambda each: len(each[0]))
    field = format_path(location)
    if first["type"] == FIELDS_ERROR:
        wrong = first["ctx"]["field"]
        return ApiError(
            422,
            f"{field or 'The body'} {first['msg']}.",
            field=format_path([*location, *([] if wrong is None else [wrong])]) or None,
        )
    if first["type"] == "string_pattern_mismatch" and field in FORMATS:
        return ApiError(422, _describe_format(field, first["input"]), field=field)
    if first["type"] == "extra_forbidden":
        return ApiError(422, f"{field} is not a field of this request.", field=field)
    expected, *others = dict.fromkeys(
        _predicate(each["msg"]) for where, each in same if where == location
    )
    message = " or ".join([expected, *(other.removeprefix("must be ") for other in others)])
    return ApiError(422, f"{field or 'The body'} {message}.", field=field or None)


def _predicate(message: str) -> str:
    """Return a `message` of pydantic without its subject, for use after the name of the field.

    >>> _predicate("Input should be a valid integer"), _predicate("Field required")
    ('must be a valid integer', 'is missing')
    """
    if message == "Field required":
        return "is missing"
    subject, _, rest = message.partition(" should ")
    return f"must {rest}" if rest and " " not in subject else f"is invalid: {message}"


def _describe_format(field: str, value: object) -> str:
    """Return the message of the ledger about a `value` of `field` that has an invalid format."""
    try:
        FORMATS[field](field, value)
    except ValueError as error:
        return str(error)
    return f"{field} has an invalid format."


def definition_error(error: Exception) -> ApiError:
    """Return an ApiError (422) with the message of `error`, raised for an invalid definition.

    Its field is the one with which the message begins, such as "allowed[0]".
    """
    message = str(error)
    found = FIRST_FIELD.match(message)
    known = found is not None and found[1] in NewProblem.model_fields
    return ApiError(422, message, field=found[0] if found and known else None)


def locate(error: Any, body: Any) -> list[str | int]:
    """Return the keys and indices that lead to the value at which a validation error occurred.

    The location in `error`, an error of pydantic, also contains names of types. These are
    recognized by the fact that the `body` of the request has no such key.

    >>> error = {"loc": ("body", "states", "list[constrained-str]", 1), "type": "string_type"}
    >>> locate(error, {"states": ["ill", 5]})
    ['states', 1]
    """
    source, *parts = error["loc"]
    if source != "body":
        return list(parts)
    path: list[str | int] = []
    for part in parts:
        known: Any = range(len(body)) if isinstance(body, list) else body
        if isinstance(body, dict | list) and part in known:
            path.append(part)
            body = body[part]
    if error["type"] == "missing" and isinstance(body, dict) and parts:
        path.append(parts[-1])
    return path


def format_path(path: Sequence[str | int]) -> str:
    """Return `path`, keys and indices that lead to a value, as text.

    >>> format_path(["steps", 2, "reward"]), format_path(["allowed", "very ill"])
    ('steps[2].reward', "allowed['very ill']")
    """
    field = ""
    for part in path:
        if isinstance(part, str) and (part.isidentifier() or not field):
            field += f".{part}" if field else part
        else:
            field += f"[{part!r}]"
    return field


def to_api_error(error: Exception, method: str) -> ApiError:
    """Convert `error`, an exception of a type in `REJECTIONS`, to an ApiError.

    `method` is the HTTP method of the request, which the message of a 405 contains.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RequestValidationError):
        return validation_error(error)
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # FastAPI's response to bytes that are not UTF-8
        return ApiError(422, "The body is not JSON: it cannot be decoded.")
    messages = {404: "Not found.", 405: f"Method {method} not allowed."}
    message = messages.get(error.status_code, str(error.detail))
    headers = dict(error.headers) if error.headers else None
    return ApiError(error.status_code, message, headers=headers)


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods of all routes of `app` that match `path`, in alphabetical order."""
    matching = (route for route in app.routes if isinstance(route, Route))
    return sorted(
        {
            method
            for route in matching
            if route.path_regex.match(path)
            for method in route.methods or ()
        }
    )


def install_error_handlers(app: FastAPI) -> None:
    """Make `app` answer exceptions of the types in `REJECTIONS` with error responses."""

    async def reject(request: Request, error: Exception) -> JSONResponse:
        found = to_api_error(error, request.method)
        if found.status == 405:
            found.headers = {"Allow": ", ".join(allowed_methods(app, request.scope["path"]))}
        return error_response(found)

    for kind in REJECTIONS:
        app.add_exception_handler(kind, reject)
