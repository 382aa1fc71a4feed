"""Feedback: what came back of episodes, one at a time or many."""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from belated.ledger.events import Corrected, Feedback
from belated.service import models
from belated.service.answers import answer
from belated.service.bulk import Bulk
from belated.service.errors import RefusalError, documented
from belated.service.guard import Guarded, scope
from belated.service.routes.common import inline_schema, json_body, problem_of
from belated.service.state import state_of
from belated.service.wire import Incoming, parse, read, write

router = APIRouter(route_class=Guarded, tags=["feedback"])

NDJSON = "application/x-ndjson"
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": models.Receipt, "description": "All of it was recorded before."},
    **documented(404, 409, 410, 413, 415),
}


@router.post(
    "/v1/episodes/{episode}/feedback",
    status_code=201,
    response_model=models.Receipt,
    responses=ANSWERS,
    openapi_extra=json_body(models.WholeEpisode, models.SomeSteps, models.LateRewards),
)
@scope("feedback", plain=True)
async def send_feedback(episode: models.EpisodeId, request: Request) -> Response:
    """Send what came back of an episode: all of it, or steps and rewards as they come.

    States and actions go by name (a text) or by index (a number); steps count from 0. It is on
    disk when the answer comes. What was sent before may be sent again.
    """
    return await _record(episode, request, Feedback)


@router.post(
    "/v1/episodes/{episode}/correction",
    status_code=201,
    response_model=models.Receipt,
    responses=ANSWERS,
    openapi_extra=json_body(models.WholeEpisode),
)
@scope("correct")
async def correct_feedback(episode: models.EpisodeId, request: Request) -> Response:
    """Replace all that came back of an episode by a whole one."""
    return await _record(episode, request, Corrected)


async def _record(episode: str, request: Request, kind: type[Feedback]) -> Response:
    state = state_of(request)
    check_type(request, "application/json")
    given, complaint = parse(await request.body())
    incoming = read(given) if complaint is None else Incoming(given, None, complaint)
    event = kind(episode, incoming.content, incoming.event_time)
    status, body = answer((await state.record(event))[0], incoming.complaint)
    return Response(write(body), status, media_type="application/json")


@router.post(
    "/v1/problems/{problem}/feedback",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A line for each line, in the same order. One that says 413 and no "
            "episode comes last: what stands after it was not read.",
            "content": {
                NDJSON: {
                    "schema": inline_schema(models.LineResult),
                    "example": models.example_of(models.LineResult),
                }
            },
        },
        **documented(404, 413, 415),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                NDJSON: {
                    "schema": {"type": "string"},
                    "example": json.dumps(
                        {"episode": models.ID, "states": [0, 1], "actions": ["treat"]}
                    )
                    + "\n",
                }
            },
        }
    },
)
# of what is refused as a whole nothing is kept: no withdrawal would find whose it is
@scope("feedback", bulk=True, kept=())
async def send_bulk(problem: models.ProblemName, request: Request) -> StreamingResponse:
    """Send what came back of many episodes, one on each line: `episode`, beside what one would
    send alone.

    Lines are recorded as they are read, many at a time. The answer begins when all of them are,
    since few clients read while they write; a request that broke off may be sent again.
    """
    state, known = state_of(request), await problem_of(request, problem)
    check_type(request, NDJSON)
    results = await Bulk(state, known).read(request.stream())

    async def lines() -> AsyncIterator[bytes]:
        for some in results:
            yield some

    return StreamingResponse(lines(), media_type=NDJSON)


def check_type(request: Request, wanted: str) -> None:
    """Refuse a body of another type, which a browser could be made to send unasked."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        raise RefusalError(415, f"Content-Type is {given[:60]!r}; it must be {wanted!r}.")
