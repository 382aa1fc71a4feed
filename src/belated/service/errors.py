"""Error responses of the API. Their bodies have the fields of `wire.Error`."""

import logging
import re
import reprlib
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from belated.client.wire import Error
from belated.ledger.outages import describe_outage

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
"""Map from an HTTP status to the value of the field `error` in the body of the response."""
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
"""Map from an HTTP status to the description of the response in the OpenAPI schema."""
RETRY_AFTER_S: Final = 1
"""Seconds after which a client may retry a request that got a 429 or a 503."""
MAX_FAULTS: Final = 10
"""Maximum number of faults of a request that an error message lists."""
MAX_MESSAGE_CHARS: Final = 1000
"""Maximum length of an error message that quotes a value of the request."""
FIRST_FIELD: Final = re.compile(r"([a-z_]+)(?:\[(?:\d+|'[^']*')\])*(?= )")
"""Regular expression of the name of a field at the beginning of a message, such as "allowed[0]"."""


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
    """Additional headers of the response; None if there are none."""


REJECTIONS: Final = (ApiError, RequestValidationError, HTTPException)
"""Types of the exceptions that reject a request."""


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
        JSON object with the fields of `wire.Error`.

    Examples
    --------
    >>> error_json(404, "Problem 'x' not found.")
    {'error': 'unknown', 'message': "Problem 'x' not found.", 'field': None}
    """
    return {"error": ERROR_CODES.get(status, "refused"), "message": message, "field": field}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return a dict from each of the HTTP `statuses` to the OpenAPI entry of its error response."""
    return {
        status: {
            "model": Error,
            "description": DESCRIPTIONS[status],
            "content": {"application/json": {"example": error_json(status, DESCRIPTIONS[status])}},
        }
        for status in statuses
    }


def unavailable(reason: str, status: int = 503) -> ApiError:
    """Return an ApiError that states the `reason` and tells the client to retry later."""
    return ApiError(status, f"{reason} Try again.", headers={"Retry-After": str(RETRY_AFTER_S)})


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


def describe_faults(faults: Sequence[Mapping[str, Any]], fields: Collection[str] = ()) -> ApiError:
    """Return an ApiError (422) with one sentence for each fault that Pydantic found in a request.

    `faults` are the errors that Pydantic lists, and `fields` are the fields of the body.
    """
    sentences = []
    for fault in faults[:MAX_FAULTS]:
        name = str(fault["loc"][-1])[:60]
        if fault["type"] == "missing":
            sentences.append(f"{name} is missing.")
        elif fault["type"] == "extra_forbidden":
            known = ", ".join(fields)
            sentences.append(f"{name} is not a field of this request; its fields are {known}.")
        else:
            sentences.append(f"{name}: {fault['msg']}, got {reprlib.repr(fault['input'])}.")
    return ApiError(422, " ".join(sentences), field=str(faults[0]["loc"][-1]))


def invalid_value(error: Exception, fields: Collection[str]) -> ApiError:
    """Return an ApiError (422) with the message of `error`, raised for an invalid value.

    The field of the ApiError is the one with which the message begins, such as "allowed[0]", if it
    is one of `fields`; otherwise None.
    """
    message = str(error)[:MAX_MESSAGE_CHARS]
    found = FIRST_FIELD.match(message)
    return ApiError(422, message, field=found[0] if found and found[1] in fields else None)


def to_api_error(error: Exception, method: str) -> ApiError:
    """Convert `error`, an exception of a type in `REJECTIONS`, to an ApiError.

    `method` is the HTTP method of the request, which the message of a 405 contains.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RequestValidationError):
        return describe_faults(error.errors())
    assert isinstance(error, HTTPException)
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
