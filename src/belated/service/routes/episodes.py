"""Episodes: opened with the policy they are to be played with, or led step by step."""

import json
import random
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from belated.ledger.events import Opened
from belated.ledger.outcomes import Recorded
from belated.ledger.recording.content import ContentError, parse_index
from belated.service import models
from belated.service.answers import check
from belated.service.errors import RefusalError, documented, unavailable
from belated.service.guard import Guarded, scope
from belated.service.routes.common import problem_of, served
from belated.service.state import state_of
from belated.service.wire import NO_TIME, microseconds

router = APIRouter(route_class=Guarded, tags=["episodes"])


@router.post(
    "/v1/problems/{problem}/episodes",
    status_code=201,
    response_model=models.Episode,
    responses={
        200: {"model": models.Episode, "description": "It was opened already; as it was then."},
        **documented(404, 409, 410, 413),
    },
)
@scope("decide", kept=("id", "event_time"))  # a subject is kept where a withdrawal finds it
async def open_episode(
    problem: models.ProblemName,
    request: Request,
    given: Annotated[models.NewEpisode | None, Body()] = None,
) -> Response:
    """Open an episode. The answer holds the whole policy, so that a device can act offline."""
    state, known = state_of(request), await problem_of(request, problem)
    given = given or models.NewEpisode()
    event_time = microseconds(given.event_time)
    if event_time is None and given.event_time is not None:
        raise RefusalError(
            422,
            NO_TIME,
            field="event_time",
        )
    version = (await served(state, known)).version
    try:
        event = Opened(known.id, version, given.subject, given.id, event_time)
    except ValueError:  # which tells the subject, and the reason is kept
        message = "subject must consist of printable characters."
        raise RefusalError(422, message, field="subject") from None
    outcome = check((await state.record(event))[0])
    episode = outcome.episode
    assert episode is not None
    state.directory.remember(episode)
    page = await state.board.page(known, episode.version)
    if page is None:
        raise unavailable("The policy cannot be read. Try again.")
    head = json.dumps({"episode": episode.id, "version": episode.version})
    body = head[:-1].encode() + b', "policy": ' + page.text + b"}"
    return Response(body, 201 if isinstance(outcome, Recorded) else 200, media_type=JSON)


JSON = "application/json"


@router.post(
    "/v1/problems/{problem}/decide",
    response_model=models.Decision,
    responses=documented(404, 413),
)
@scope("decide")
async def decide(
    problem: models.ProblemName, given: models.Situation, request: Request
) -> models.Decision:
    """What to do in a state at a step, for those who do not keep a policy."""
    state, known = state_of(request), await problem_of(request, problem)
    try:
        index = parse_index("state", given.state, known.spec.state_numbers)
    except ContentError as error:
        raise RefusalError(422, str(error), field=error.field) from None
    if given.step >= known.spec.horizon:
        raise RefusalError(
            422, f"step is {given.step}; allowed are 0 .. {known.spec.horizon - 1}.", field="step"
        )
    if given.episode is None:
        now = await served(state, known)
        version, policy, u = now.version, now.policy, random.SystemRandom().random()
    else:
        place = await state.directory.place(given.episode)
        if place is None or place.problem != known.id:
            raise RefusalError(404, "There is no such episode of this problem.", field="episode")
        found = await state.board.policy(known.id, place.version)
        if found is None:
            raise unavailable("The policy cannot be read. Try again.")
        version, policy, u = place.version, found, drawn(given.episode, given.step)
    action = policy.action(given.step, index, u)
    return models.Decision(action=known.spec.actions[action], version=version)


def drawn(episode: str, step: int) -> float:
    """A uniform in [0, 1) that belongs to a step of an episode, whenever it is asked for.

    >>> drawn("a", 0) == drawn("a", 0) != drawn("a", 1)
    True
    """
    bits = sha256(f"{step}/{episode}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(bits[:8], "big") / 2**64 // 2**-53 * 2**-53
