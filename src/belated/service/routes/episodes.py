"""Routes that open episodes, choose actions, and withdraw the data of an episode or a subject."""

import json
import random
from collections.abc import Sequence

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.convertors import PathConvertor, register_url_convertor

from belated.client.policies import step_uniform
from belated.ledger.content import ContentError, parse_index
from belated.ledger.events import NotFound, Outcome, Recorded
from belated.ledger.kinds import Opened, Withdrawn
from belated.service.auth import Routes
from belated.service.bodies import check_outcome, outcome_response, parse_time, read_body
from belated.service.errors import ApiError, invalid_value, unavailable
from belated.service.idempotency import KeyedRequest
from belated.service.openapi import json_body
from belated.service.responses import Decision, Episode, Receipt, Withdrawal
from belated.service.schemas import DecisionRequest, EpisodeId, NewEpisode, ProblemName, Subject
from belated.service.state import AppState, get_problem, get_state

routes = Routes("episodes")
withdrawals = Routes("withdrawals")


@routes.add(
    "POST",
    "/problems/{problem}/episodes",
    "decide",
    Episode,
    repeated="Already opened; the response is the same as the first time.",
    errors=(409, 410),
    # The subject is not quarantined, since a withdrawal would not find it there.
    quarantined_fields=("id", "event_time"),
    openapi_extra=json_body(NewEpisode, required=False),
)
async def open_episode(problem: ProblemName, request: Request) -> Response:
    """Open an episode.

    The response contains the whole policy, so that a device can choose its actions offline. If an
    episode with the same id, problem and subject was opened before, the response is 200 with this
    episode. If the id is in use with another problem or subject, the request is rejected with 409.
    While the problem is archived, new episodes are rejected with 409. To repeat a request without
    an id safely, send an Idempotency-Key.
    """
    is_empty = await request.body() in (b"", b"null")
    new = NewEpisode() if is_empty else await read_body(request, NewEpisode)
    state, known = await get_problem(request, problem)
    keyed: KeyedRequest | None = getattr(request.state, "keyed", None)
    id = keyed.episode if keyed is not None and new.id is None else new.id
    event_time = parse_time(new.event_time)
    version = (await state.served(known)).version
    try:
        event = Opened(known.id, version, new.subject, id, event_time)
    except (ValueError, TypeError) as error:
        fault = invalid_value(error, ("id", "subject"))
        if fault.field == "subject":  # not quoted, since messages are quarantined
            fault.message = "subject must be a text of 1 to 200 printable characters."
        raise fault from None
    # in the same transaction; the body is not stored, since the same opening gives it again
    stored = () if keyed is None else (keyed.stored(201, episode=id),)
    opening, *_ = await state.record(event, *stored)
    if keyed is not None:
        keyed.is_stored = True
    outcome = check_outcome(opening)
    episode = outcome.episode
    assert episode is not None
    state.add_episode(episode)
    policy = await state.document(known, episode.version)
    if policy is None:
        raise unavailable("The policy cannot be read.")
    head = json.dumps({"episode": episode.id, "version": episode.version})
    return Response(
        head[:-1].encode() + b', "policy": ' + policy.text + b"}",
        status_code=201 if isinstance(outcome, Recorded) else 200,
        media_type="application/json",
    )


@routes.add(
    "POST",
    "/problems/{problem}/decide",
    "decide",
    Decision,
    openapi_extra=json_body(DecisionRequest),
)
async def decide(problem: ProblemName, request: Request) -> Response:
    """Return the action to take in a state at a step.

    This is for clients that do not store the policy.
    """
    body = await read_body(request, DecisionRequest)
    state, known = await get_problem(request, problem)
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
        served = await state.served(known)
        version, policy, u = served.version, served.policy, random.SystemRandom().random()
    else:
        episode = await state.episode(body.episode)
        if episode is None or episode.problem != known.id:
            raise ApiError(404, "Episode not found in this problem.", field="episode")
        found = await state.policy(known, episode.version)
        if found is None:
            raise unavailable("The policy cannot be read.")
        version, policy, u = episode.version, found, step_uniform(body.episode, body.step)
    action = spec.actions[policy.action(body.step, index, u)]
    return JSONResponse(Decision(action=action, version=version))


@withdrawals.add("DELETE", "/episodes/{episode}", "withdraw", Receipt)
async def withdraw_episode(episode: EpisodeId, request: Request) -> Response:
    """Remove the data of an episode. The policy is then computed again without this data."""
    state = get_state(request)
    [outcome] = await state.record(Withdrawn(episode=episode))
    check_outcome(outcome)
    state.host.wake()
    return JSONResponse(outcome_response(outcome)[1])


class TextConvertor(PathConvertor):
    """Converter of a path parameter that may contain any characters, also line breaks."""

    regex = r"[\s\S]*"


register_url_convertor("text", TextConvertor())


# A subject may contain any character, including slashes.
@withdrawals.add("DELETE", "/problems/{problem}/subjects/{subject:text}", "withdraw", Withdrawal)
async def withdraw_subject(problem: ProblemName, subject: Subject, request: Request) -> Response:
    """Remove the data of a subject in one problem. Repeating the request is safe."""
    state, known = await get_problem(request, problem)
    try:
        event = Withdrawn(problem=known.id, subject=subject)
    except (ValueError, TypeError) as error:
        raise invalid_value(error, ("subject",)) from None
    return _withdrawal(state, await state.record(event))


@withdrawals.add("DELETE", "/subjects/{subject:text}", "withdraw", Withdrawal)
async def withdraw_subject_everywhere(subject: Subject, request: Request) -> Response:
    """Remove the data of a subject in all problems. Repeating the request is safe."""
    state = get_state(request)
    try:
        outcomes = await state.slow_threads.run(lambda: state.ledger.withdraw(subject=subject))
    except (ValueError, TypeError) as error:
        raise invalid_value(error, ("subject",)) from None
    return _withdrawal(state, outcomes)


def _withdrawal(state: AppState, outcomes: Sequence[Outcome]) -> Response:
    recorded = [check_outcome(outcome) for outcome in outcomes if not isinstance(outcome, NotFound)]
    if not recorded:
        return JSONResponse(Withdrawal(result="nothing kept", seq=None))
    state.host.wake()
    return JSONResponse(Withdrawal(result="recorded", seq=recorded[-1].seq))
