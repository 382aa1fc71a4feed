"""Withdrawals: data that is to be forgotten."""

from typing import Any

from fastapi import APIRouter, Request

from belated.online.events import Withdrawn
from belated.service import models
from belated.service.answers import answer, check
from belated.service.errors import RefusalError, documented
from belated.service.guard import Guarded, scope
from belated.service.routes.common import entry_of
from belated.service.state import State, state_of

router = APIRouter(route_class=Guarded, tags=["withdrawals"])


@router.delete("/v1/episodes/{episode}", response_model=models.Receipt, responses=documented(404))
@scope("withdraw")
async def withdraw_episode(episode: models.EpisodeId, request: Request) -> dict[str, Any]:
    """Forget what came back of an episode; the policy is made anew without it."""
    state = state_of(request)
    return await _withdraw(state, Withdrawn(episode=episode))


@router.delete(
    "/v1/problems/{problem}/subjects/{subject}",
    response_model=models.Receipt,
    responses=documented(404),
)
@scope("withdraw")
async def withdraw_subject(
    problem: models.ProblemName, subject: models.Subject, request: Request
) -> dict[str, Any]:
    """Forget what came back of all that a subject played in a problem."""
    state, entry = state_of(request), await entry_of(request, problem)
    try:
        event = Withdrawn(problem=entry.id, subject=subject)
    except (ValueError, TypeError) as error:
        raise RefusalError(422, str(error), field="subject") from None
    return await _withdraw(state, event)


@router.delete("/v1/subjects/{subject}", response_model=models.Receipt, responses=documented(404))
@scope("withdraw")
async def withdraw_subject_everywhere(subject: models.Subject, request: Request) -> dict[str, Any]:
    """Forget what came back of all that a subject played, in every problem."""
    state = state_of(request)
    try:
        outcomes = await state.slow(lambda: state.ledger.withdraw(subject=subject))
    except (ValueError, TypeError) as error:
        raise RefusalError(422, str(error), field="subject") from None
    if not outcomes:
        raise RefusalError(404, "Nothing of this subject is here.")
    done = [check(outcome) for outcome in outcomes]
    state.host.wake()
    return {"result": "recorded", "seq": done[-1].seq}


async def _withdraw(state: State, event: Withdrawn) -> dict[str, Any]:
    outcome = (await state.record(event))[0]
    check(outcome)
    state.host.wake()
    return answer(outcome)[1]
