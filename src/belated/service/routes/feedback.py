"""Routes for the feedback of one episode."""

import json
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from belated.ledger.events import Corrected, Feedback, Lost
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import ApiError, check_outcome, error_responses, outcome_response
from belated.service.models.common import EpisodeId
from belated.service.models.feedback import LateRewards, LostEpisode, Receipt, Steps, WholeEpisode
from belated.service.requests.parsing import (
    INVALID_TIME,
    parse_feedback,
    parse_json,
    parse_time,
)
from belated.service.routes.common import json_body
from belated.service.state import get_state

router = APIRouter(prefix="/v1/episodes/{episode}", route_class=AuthorizedRoute, tags=["feedback"])

RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "model": Receipt,
        "description": "All of it was already recorded with the same content; nothing changes.",
    },
    **error_responses(404, 409, 410, 413, 415),
}
ENCODER: Final = json.JSONEncoder(separators=(",", ":"))


@router.post(
    "/feedback",
    status_code=201,
    response_model=Receipt,
    responses=RESPONSES,
    openapi_extra=json_body(WholeEpisode, Steps, LateRewards),
)
@require_scope("feedback", bypass_validation=True)
async def send_feedback(episode: EpisodeId, request: Request) -> Response:
    """Send feedback of an episode: the whole episode, or steps and rewards as they arrive.

    States and actions are given by name (string) or by index (number); steps are numbered
    from 0. The feedback is on disk when the response arrives. If the same feedback is sent again,
    the response is 200, "already recorded", and nothing changes. Feedback that differs from
    recorded feedback of the same steps is rejected with 409.
    """
    return await _record(episode, request, Feedback)


@router.post(
    "/correction",
    status_code=201,
    response_model=Receipt,
    responses=RESPONSES,
    openapi_extra=json_body(WholeEpisode),
)
@require_scope("correct")
async def correct_feedback(episode: EpisodeId, request: Request) -> Response:
    """Replace all recorded feedback of an episode by the whole episode in the body.

    If the body equals the feedback that is currently valid, the response is 200, "already
    recorded".
    """
    return await _record(episode, request, Corrected)


@router.post("/lost", status_code=201, response_model=Receipt, responses=RESPONSES)
@require_scope("feedback")
async def declare_lost(
    episode: EpisodeId, body: LostEpisode, request: Request, response: Response
) -> dict[str, Any]:
    """Declare that the feedback of an episode is no longer expected.

    The episode no longer counts as missing, and is counted as lost. Nothing is learnt from it, in
    particular no reward of zero. Feedback that arrives later is used as usual, and the episode is
    then no longer lost. An episode whose feedback is complete cannot be lost (409).
    """
    event_time = parse_time(body.event_time)
    if event_time is None and body.event_time is not None:
        raise ApiError(422, INVALID_TIME, field="event_time")
    try:
        event = Lost(episode, body.reason, event_time)
    except ValueError as error:
        raise ApiError(422, str(error), field="reason") from None
    outcome = check_outcome((await get_state(request).record(event))[0])
    response.status_code, answer = outcome_response(outcome)
    return answer


async def _record(episode: str, request: Request, kind: type[Feedback]) -> Response:
    check_content_type(request, "application/json")
    content, event_time = parse_feedback(*parse_json(await request.body()))
    [outcome] = await get_state(request).record(kind(episode, content, event_time))
    status, answer = outcome_response(outcome)
    return Response(ENCODER.encode(answer).encode(), status, media_type="application/json")


def check_content_type(request: Request, expected: str) -> None:
    """Raise ApiError (415) unless the Content-Type of `request` is `expected`.

    This also prevents cross-site request forgery if `expected` is a type that a browser sends to
    another site only after a CORS preflight, such as "application/json".
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != expected:
        raise ApiError(415, f"Content-Type must be {expected!r}, got {given[:60]!r}.")
