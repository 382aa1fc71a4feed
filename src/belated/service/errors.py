"""Errors: every refusal is one sentence, in one form."""

import logging
import traceback
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from belated.service.models import Error

LOG: Final = logging.getLogger("belated.service")

NAMES: Final = {
    401: "unauthenticated",
    403: "forbidden",
    404: "unknown",
    405: "method not allowed",
    409: "conflict",
    410: "gone",
    413: "too large",
    415: "unsupported",
    422: "refused",
    500: "internal",
    503: "unavailable",
}
RETRY: Final = {"Retry-After": "1"}
KINDS: Final = ("str", "int", "constrained-str", "constrained-int")
"""What pydantic adds to the name of a field that may be one or the other."""
NO_OBJECT: Final = ("model_attributes_type", "model_type", "dict_type")
"""What pydantic says of a body that is something else, or that was not read as JSON."""


class RefusalError(Exception):
    """An answer other than the one that was asked for."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        field: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.headers = headers


REFUSALS: Final = (RefusalError, RequestValidationError, HTTPException)
"""What is raised when a request is refused."""


def body_of(status: int, message: str, field: str | None = None) -> dict[str, Any]:
    """What an error says.

    >>> body_of(404, "There is no problem 'x'.")
    {'error': 'unknown', 'message': "There is no problem 'x'.", 'field': None}
    """
    return {"error": NAMES.get(status, "refused"), "message": message, "field": field}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These answers, as OpenAPI tells of them."""
    meanings = {
        401: "There is no token, or it is not good.",
        403: "The token is not good for this.",
        404: "There is no such problem, episode, subject or version.",
        409: "It contradicts what has been recorded.",
        410: "The data of this episode has been withdrawn.",
        413: "The body is too large.",
        415: "The body is of another type than this route reads.",
        422: "It is malformed; `field` tells where.",
        500: "Something went wrong here; it may be sent again.",
        503: "The store cannot be reached, or too much waits; try again.",
    }
    return {
        status: {
            "model": Error,
            "description": meanings[status],
            "content": {
                "application/json": {"example": body_of(status, meanings[status])},
            },
        }
        for status in statuses
    }


def unavailable(why: str) -> RefusalError:
    """Ask to try again."""
    return RefusalError(503, why, headers=RETRY)


def respond(error: RefusalError) -> JSONResponse:
    """An error as an answer."""
    body = body_of(error.status, error.message, error.field)
    return JSONResponse(body, error.status, headers=error.headers)


def unexpected(request: Request, error: Exception) -> JSONResponse:
    """Say that it failed here. Where goes to the log; what the error says may be personal data."""
    place = "".join(traceback.format_tb(error.__traceback__))
    route = getattr(request.scope.get("route"), "path", "?")
    LOG.error("%s %s failed with %s:\n%s", request.method, route, type(error).__name__, place)
    return respond(RefusalError(500, "Something went wrong here; it may be sent again."))


def first_of(error: RequestValidationError) -> RefusalError:
    """The first of the errors that validation found, as a sentence."""
    said = error.errors()[0]
    where = [part for part in said["loc"] if part not in ("body", "query", "path", *KINDS)]
    if said["type"] == "json_invalid":
        return RefusalError(422, f"The body is not JSON: {said['ctx']['error']}.")
    if not where and said["type"] == "missing":
        return RefusalError(422, "The body is missing; it must be a JSON object.")
    if not where and said["type"] in NO_OBJECT:
        return RefusalError(
            422, "The body must be a JSON object, with Content-Type: application/json."
        )
    field = ""
    for part in where:
        field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
    message = said["msg"][:1].lower() + said["msg"][1:]
    return RefusalError(422, f"{field or 'The body'}: {message}.", field=field or None)


def refusal_of(error: Exception, method: str) -> RefusalError:
    """An error that FastAPI or a route raises, as a sentence."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, RequestValidationError):
        return first_of(error)
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # what FastAPI says of bytes that are no text
        return RefusalError(422, "The body is not JSON: it cannot be decoded.")
    said = {404: "There is nothing here.", 405: f"{method} is not for this address."}
    message = said.get(error.status_code, str(error.detail))
    headers = dict(error.headers) if error.headers else None
    return RefusalError(error.status_code, message, headers=headers)


def install(app: FastAPI) -> None:
    """Let every error of an app take this form."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        return respond(refusal_of(error, request.method))

    for kind in REFUSALS:
        app.add_exception_handler(kind, refused)
