"""Error responses of the API. Their bodies have the fields of `models.common.Error`."""

import logging
import traceback
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

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
from belated.service.models.common import Error

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
    """Return a dict from each of the HTTP `statuses` to the OpenAPI entry of its error response."""
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
