"""Error responses of the API. Their bodies have the fields of `responses.Error`."""

import logging
import re
import reprlib
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from belated.ledger.outages import describe_outage
from belated.service.responses import Error

LOG: Final = logging.getLogger("belated.service")

ERRORS: Final = {
    401: ("unauthenticated", "Missing or invalid token."),
    403: ("forbidden", "The token does not allow this request."),
    404: ("unknown", "Problem, episode, subject or version not found."),
    405: ("method not allowed", "Method not allowed."),
    408: ("timeout", "The request was not completed in time."),
    409: (
        "conflict",
        "Different content has been recorded; the same content again is answered with 200.",
    ),
    410: ("gone", "The data of this episode has been withdrawn."),
    413: ("too large", "Body too large."),
    415: ("unsupported", "Unsupported content type."),
    422: ("refused", "Invalid request; `field` says where."),
    429: (
        "too many requests",
        "Too many requests with this token, or of this kind. Try again after Retry-After.",
    ),
    431: ("too large", "Head of the request too large."),
    500: ("internal", "Internal error. The request can be retried."),
    503: ("unavailable", "The store is unavailable, or the queue is full. Try again."),
}
"""Map from an HTTP status to the value of the field `error` in the body of the response, and to the
description of the response in the OpenAPI document."""
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
        JSON object with the fields of `responses.Error`.

    Examples
    --------
    >>> error_json(404, "Problem 'x' not found.")
    {'error': 'unknown', 'message': "Problem 'x' not found.", 'field': None}
    """
    code, _ = ERRORS.get(status, ERRORS[422])
    return {"error": code, "message": message, "field": field}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return a dict from each of the HTTP `statuses` to the OpenAPI entry of its error response."""
    return {
        status: {
            "model": Error,
            "description": ERRORS[status][1],
            "content": {"application/json": {"example": error_json(status, ERRORS[status][1])}},
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
    return error_response(ApiError(500, ERRORS[500][1]))


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


async def reject_unknown(request: Request, error: Exception) -> JSONResponse:
    """Return the response to a request of an unknown path or method, for which `error` stands."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        routes = [route for route in request.app.routes if isinstance(route, Route)]
        matching = [each for each in routes if each.path_regex.match(request.scope["path"])]
        methods = {method for each in matching for method in each.methods or ()}
        headers = {"Allow": ", ".join(sorted(methods))}
        message = f"Method {request.method} not allowed."
        return error_response(ApiError(405, message, headers=headers))
    return error_response(ApiError(error.status_code, "Not found."))
