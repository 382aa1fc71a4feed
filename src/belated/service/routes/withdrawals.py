"""Withdrawals: data that is to be forgotten."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request

from belated.ledger.events import Withdrawn
from belated.ledger.outcomes import NotFound, Outcome
from belated.service import models
from belated.service.answers import answer, check
from belated.service.errors import RefusalError, documented
from belated.service.guard import Guarded, scope
from belated.service.routes.common import problem_of
from belated.service.state import State, state_of

router = APIRouter(route_class=Guarded, tags=["withdrawals"])


@router.delete("/v1/episodes/{episode}", response_model=models.Receipt, responses=documented(404))
@scope("withdraw")
async def withdraw_episode(episode: models.EpisodeId, request: Request) -> dict[str, Any]:
    """Forget what came back of an episode; the policy is made anew without it."""
    state = state_of(request)
    outcome = (await state.record(Withdrawn(episode=episode)))[0]
    check(outcome)
    state.host.wake()
    return answer(outcome)[1]


# a subject may hold anything, slashes too
@router.delete(
    "/v1/problems/{problem}/subjects/{subject:path}",
    response_model=models.Withdrawal,
    responses=documented(404),
)
@scope("withdraw")
async def withdraw_subject(
    problem: models.ProblemName, subject: models.Subject, request: Request
) -> dict[str, Any]:
    """Forget what came back of all that a subject played in a problem; again, as often as you
    like."""
    state, known = state_of(request), await problem_of(request, problem)
    try:
        event = Withdrawn(problem=known.id, subject=subject)
    except (ValueError, TypeError) as error:
        raise RefusalError(422, str(error), field="subject") from None
    return _told(state, await state.record(event))


@router.delete("/v1/subjects/{subject:path}", response_model=models.Withdrawal)
@scope("withdraw")
async def withdraw_subject_everywhere(subject: models.Subject, request: Request) -> dict[str, Any]:
    """Forget what came back of all that a subject played, in every problem; again, as often as you
    like."""
    state = state_of(request)
    try:
        outcomes = await state.slow(lambda: state.ledger.withdraw(subject=subject))
    except (ValueError, TypeError) as error:
        raise RefusalError(422, str(error), field="subject") from None
    return _told(state, outcomes)


def _told(state: State, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What became of a subject's data; of an unknown one, nothing is kept."""
    done = [check(outcome) for outcome in outcomes if not isinstance(outcome, NotFound)]
    if not done:
        return {"result": "nothing kept", "seq": None}
    state.host.wake()
    return {"result": "recorded", "seq": done[-1].seq}
