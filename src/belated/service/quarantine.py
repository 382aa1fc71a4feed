"""Quarantine of rejected requests: their bodies are kept, with the reason for the rejection.

Feedback that the ledger rejects is quarantined by the ledger. This module quarantines all other
rejected requests: bodies that are too large, of the wrong content type or not JSON, and invalid
problems, episodes, decisions and controls.
"""

from collections.abc import Sequence
from typing import Any, Final

from fastapi import Request
from starlette.requests import ClientDisconnect

from belated.ledger.clients import RejectedRequest
from belated.service.bodies import TooLargeError, parse_json
from belated.service.errors import LOG, ApiError
from belated.service.state import AppState, get_state

OUTCOMES: Final = {404: "unknown", 409: "conflict", 410: "gone"} | dict.fromkeys(
    (413, 415, 422), "refused"
)
"""Map from the HTTP status of a rejected request to its outcome, as kept in the quarantine.

Requests rejected with another status are not kept. In particular, unauthorized requests are not
kept, since otherwise anybody could fill the disk.
"""


async def quarantine_request(
    request: Request, error: ApiError, fields: Sequence[str] | None
) -> None:
    """Write a rejected POST request to the quarantine.

    Parameters
    ----------
    request : Request
        Request that was rejected. Nothing is written if the status of the rejection is not in
        `OUTCOMES`, or if the method is not POST, since such a request has no body.
    error : ApiError
        Reason for the rejection.
    fields : Sequence[str] | None
        Fields of the body to keep; None to keep the whole body.
    """
    outcome = OUTCOMES.get(error.status)
    if outcome is None or request.method != "POST":
        return
    state = get_state(request)
    try:
        name = request.path_params.get("problem")
        problem = None if name is None else await state.find_problem(name)
        is_kept = error.status != 413 and fields != ()
        body = await _read_body(request) if is_kept else None
        rejection = RejectedRequest(
            error.message,
            error.size if isinstance(error, TooLargeError) else _select(body, outcome, fields),
            problem=None if problem is None else problem.id,
            episode=request.path_params.get("episode") or _find_episode(body),
            outcome=outcome,
        )
    except Exception as failure:
        _log(failure)
    else:
        await quarantine(state, [rejection])


async def quarantine(state: AppState, rejections: Sequence[RejectedRequest]) -> None:
    """Write the rejected requests `rejections` to the quarantine of the ledger in `state`.

    If writing fails, the failure is logged and not raised, so that the client still gets the
    response with the reason for the rejection.
    """
    try:
        await state.quarantine_threads.run(state.ledger.quarantine.add_all, rejections)
    except Exception as failure:
        _log(failure)


async def _read_body(request: Request) -> Any:
    """Return the body of `request` as a JSON value, or as a string if the body is not JSON.

    Returns None if the body is empty or can no longer be read.
    """
    try:
        raw = await request.body()
    except (RuntimeError, ApiError, ClientDisconnect):
        return None  # the body was streamed already, or the connection was lost
    return parse_json(raw)[0] if raw else None


def _select(body: Any, outcome: str, fields: Sequence[str] | None) -> Any:
    """Return the part of a rejected `body` that may be kept, or None.

    If `fields` is None, the whole body may be kept; otherwise, only the given fields of the body.
    If `outcome` is "gone" (the data was withdrawn), nothing may be kept.
    """
    if outcome == "gone":  # withdrawn data must not be kept in the quarantine either
        return None
    if fields is None:
        return body
    body = body if isinstance(body, dict) else {}
    return {key: body[key] for key in fields if key in body} or None


def _find_episode(body: Any) -> str | None:
    """Return the episode id in the field `episode` or, without this field, in the field `id`.

    Returns None if `body` is not an object, or if the field is missing or not a text.
    """
    id = body.get("episode", body.get("id")) if isinstance(body, dict) else None
    return id if isinstance(id, str) else None


def _log(failure: Exception) -> None:
    # The message is not logged, because it may contain personal data.
    LOG.error("Writing to the quarantine failed: %s.", type(failure).__name__)
