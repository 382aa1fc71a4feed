"""Routes that open episodes and choose actions."""

import json
import random
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from belated.ledger.events import Opened
from belated.ledger.outcomes import Recorded
from belated.ledger.recording.values import ContentError, parse_index
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import ApiError, check_outcome, error_responses, unavailable
from belated.service.models.common import ProblemName
from belated.service.models.episodes import Decision, DecisionRequest, Episode, NewEpisode
from belated.service.requests.idempotency import get_keyed
from belated.service.requests.parsing import INVALID_TIME, parse_time
from belated.service.routes.common import get_problem, get_served
from belated.service.state import get_state

router = APIRouter(prefix="/v1/problems/{problem}", route_class=AuthorizedRoute, tags=["episodes"])


@router.post(
    "/episodes",
    status_code=201,
    response_model=Episode,
    responses={
        200: {
            "model": Episode,
            "description": "Already opened; the response is the same as the first time.",
        },
        **error_responses(404, 409, 410, 413),
    },
)
# The subject is not quarantined, since a withdrawal would not find it there.
@require_scope("decide", quarantined_fields=("id", "event_time"))
async def open_episode(
    problem: ProblemName, request: Request, body: Annotated[NewEpisode | None, Body()] = None
) -> Response:
    """Open an episode.

    The response contains the whole policy, so that a device can choose its actions offline. If an
    episode with the same id, problem and subject was opened before, the response is 200 with this
    episode. If the id is in use with another problem or subject, the request is rejected with 409.
    While the problem is archived, new episodes are rejected with 409. To repeat a request without
    an id safely, send an Idempotency-Key.
    """
    state, known = get_state(request), await get_problem(request, problem)
    new = body or NewEpisode()
    keyed = get_keyed(request)
    id = keyed.episode if keyed is not None and new.id is None else new.id
    event_time = parse_time(new.event_time)
    if event_time is None and new.event_time is not None:
        raise ApiError(422, INVALID_TIME, field="event_time")
    version = (await get_served(state, known)).version
    try:
        event = Opened(known.id, version, new.subject, id, event_time)
    except ValueError:  # not quoted: it contains the subject, and messages are quarantined
        message = "subject must consist of printable characters."
        raise ApiError(422, message, field="subject") from None
    # in the same transaction; the body is not stored, since the same opening gives it again
    stored = () if keyed is None else (keyed.stored(201, episode=id),)
    opening, *_ = await state.record(event, *stored)
    if keyed is not None:
        keyed.is_stored = True
    outcome = check_outcome(opening)
    episode = outcome.episode
    assert episode is not None
    state.ledger_cache.add_episode(episode)
    policy = await state.policies.document(known, episode.version)
    if policy is None:
        raise unavailable("The policy cannot be read.")
    head = json.dumps({"episode": episode.id, "version": episode.version})
    return Response(
        head[:-1].encode() + b', "policy": ' + policy.text + b"}",
        status_code=201 if isinstance(outcome, Recorded) else 200,
        media_type="application/json",
    )


@router.post("/decide", response_model=Decision, responses=error_responses(404, 413))
@require_scope("decide")
async def decide(problem: ProblemName, body: DecisionRequest, request: Request) -> Decision:
    """Return the action to take in a state at a step.

    This is for clients that do not store the policy.
    """
    state, known = get_state(request), await get_problem(request, problem)
    spec = known.spec
    try:
        index = parse_index("state", body.state, spec.state_numbers, spec.factors)
    except ContentError as error:
        raise ApiError(422, str(error), field=error.field) from None
    if spec.shape.is_terminal[index]:
        message = f"state must not be terminal, got {spec.states[index]!r}; the episode has ended."
        raise ApiError(422, message, field="state")
    if body.step >= spec.horizon:
        message = f"step must be in 0 .. {spec.horizon - 1}, got {body.step}."
        raise ApiError(422, message, field="step")
    if body.episode is None:
        served = await get_served(state, known)
        version, policy, u = served.version, served.policy, random.SystemRandom().random()
    else:
        episode = await state.ledger_cache.episode(body.episode)
        if episode is None or episode.problem != known.id:
            raise ApiError(404, "Episode not found in this problem.", field="episode")
        found = await state.policies.policy(known.id, episode.version)
        if found is None:
            raise unavailable("The policy cannot be read.")
        version, policy, u = episode.version, found, step_uniform(body.episode, body.step)
    action = policy.action(body.step, index, u)
    return Decision(action=spec.actions[action], version=version)


def step_uniform(episode: str, step: int) -> float:
    """Return the number in [0, 1) with which the action at a `step` is drawn.

    The number is a hash of `step` and of the id `episode`, so that every call returns the same
    number, and numbers of different steps are as if drawn from the uniform distribution.
    `OpenEpisode.act` of the client uses the same number.

    >>> step_uniform("a", 0) == step_uniform("a", 0) != step_uniform("a", 1)
    True
    """
    bits = sha256(f"{step}/{episode}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(bits[:8], "big") / 2**64 // 2**-53 * 2**-53
