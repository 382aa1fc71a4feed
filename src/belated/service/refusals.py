"""Refusals: what a caller sent and was refused goes to the quarantine, with the reason.

Feedback that comes to the ledger is kept there. Everything else passes here: what is no JSON, of
the wrong type or too large, and problems, openings, decisions and controls that cannot be.
"""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Final

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from belated.ledger.quarantine import MAX_BODY_CHARS, RejectedRequest
from belated.service.errors import LOG, refusal_of
from belated.service.limits import TooLargeError
from belated.service.state import State, state_of
from belated.service.wire import parse

OUTCOMES: Final = {
    404: "unknown",
    409: "conflict",
    410: "gone",
    413: "refused",
    415: "refused",
    422: "refused",
}
"""By status. Who is not let in has sent nothing, or strangers could fill the disk."""


async def keep(request: Request, error: Exception, fields: Sequence[str] | None = None) -> None:
    """Keep what a request brought, if it was refused for that; `fields` alone where given.

    Only what is posted brings something.
    """
    refusal = refusal_of(error, request.method)
    outcome = OUTCOMES.get(refusal.status)
    if outcome is None or request.method != "POST":
        return
    state = state_of(request)
    try:
        name = request.path_params.get("problem")
        known = None if name is None else await state.directory.problem(name)
        given = None if refusal.status == 413 else await _sent(request)
        rejection = RejectedRequest(
            refusal.message,
            error.seen if isinstance(error, TooLargeError) else _kept(given, outcome, fields),
            problem=None if known is None else known.id,
            episode=request.path_params.get("episode") or _episode_in(given),
            outcome=outcome,
        )
    except Exception as failure:
        _tell(failure)
    else:
        await put(state, [rejection])


async def put(state: State, rejections: Sequence[RejectedRequest]) -> None:
    """Keep refusals. That they cannot be kept makes no failure of them."""
    try:
        await state.keeping(state.ledger.quarantine.add_all, rejections)
    except Exception as failure:
        _tell(failure)


async def _sent(request: Request) -> Any:
    """The body, or its beginning; JSON if it is, and a text if not."""
    raw = b""
    try:
        async with aclosing(request.stream()) as chunks:
            async for chunk in chunks:
                raw += chunk
                if len(raw) > MAX_BODY_CHARS:
                    break
    except (RuntimeError, HTTPException, ClientDisconnect):
        return None  # it was taken in pieces, or broke off
    return parse(raw)[0] if raw else None


def _kept(given: Any, outcome: str, fields: Sequence[str] | None) -> Any:
    """What may be kept of it."""
    if outcome == "gone":  # what was withdrawn is not to be kept under another name
        return None
    if fields is None:
        return given
    given = given if isinstance(given, dict) else {}
    return {key: given[key] for key in fields if key in given} or None


def _episode_in(given: Any) -> str | None:
    """The episode that a body speaks of."""
    said = given.get("episode", given.get("id")) if isinstance(given, dict) else None
    return said if isinstance(said, str) else None


def _tell(failure: Exception) -> None:
    """What it says may be personal data."""
    LOG.error("A refusal cannot be kept: %s.", type(failure).__name__)
