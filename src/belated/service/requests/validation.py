"""Error responses to invalid requests. Their `field` is the path of the invalid value."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from belated.check import check_episode_id, check_name
from belated.service.errors import REJECTIONS, ApiError, error_response
from belated.service.models.common import FIELDS_ERROR
from belated.service.models.problems import NewProblem

FIRST_FIELD: Final = re.compile(r"([a-z_]+)(?:\[(?:\d+|'[^']*')\])*(?= )")
"""Regular expression of the name of a field at the beginning of a message, such as "allowed[0]"."""
FORMATS: Final[dict[str, Callable[[str, object], str]]] = {
    "id": check_episode_id,
    "name": check_name,
}
"""Map from the name of a field to a function that raises ValueError if its format is invalid."""
NOT_AN_OBJECT: Final = ("model_attributes_type", "model_type", "dict_type")
"""Pydantic's error types for a body that is not an object, or that was not parsed as JSON."""


def validation_error(error: RequestValidationError) -> ApiError:
    """Return an ApiError (422) for the first field that is invalid according to `error`.

    If the field may have several types, `error` has entries for each of them. The entries with the
    longest location are used, because they belong to the type that the value resembles most.
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
    """Return the error message of the ledger for `value`, an invalid value of `field`."""
    try:
        FORMATS[field](field, value)
    except ValueError as error:
        return str(error)
    return f"{field} has an invalid format."


def definition_error(error: Exception) -> ApiError:
    """Return an ApiError (422) with the message of `error`, raised for an invalid definition.

    The field of the ApiError is the one with which the message begins, such as "allowed[0]"; None
    if the message does not begin with a field.
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
