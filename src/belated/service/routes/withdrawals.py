"""Routes that withdraw the data of an episode or a subject."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.convertors import Convertor, register_url_convertor

from belated.ledger.events import Withdrawn
from belated.ledger.outcomes import NotFound, Outcome
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import ApiError, check_outcome, error_responses, outcome_response
from belated.service.models.common import EpisodeId, ProblemName, Subject
from belated.service.models.feedback import Receipt, Withdrawal
from belated.service.routes.common import get_problem
from belated.service.state import AppState, get_state

router = APIRouter(route_class=AuthorizedRoute, tags=["withdrawals"])


@router.delete("/v1/episodes/{episode}", response_model=Receipt, responses=error_responses(404))
@require_scope("withdraw")
async def withdraw_episode(episode: EpisodeId, request: Request) -> dict[str, Any]:
    """Remove the data of an episode. The policy is then computed again without this data."""
    state = get_state(request)
    [outcome] = await state.record(Withdrawn(episode=episode))
    check_outcome(outcome)
    state.host.wake()
    return outcome_response(outcome)[1]


class TextConvertor(Convertor[str]):
    """Converter of a path parameter that may contain any characters.

    Unlike the converter `path` of Starlette, it also matches line breaks.
    """

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """Return `value`, the text in the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return `value`, the text in the path."""
        return value


register_url_convertor("text", TextConvertor())


# A subject may contain any character, including slashes.
@router.delete(
    "/v1/problems/{problem}/subjects/{subject:text}",
    response_model=Withdrawal,
    responses=error_responses(404),
)
@require_scope("withdraw")
async def withdraw_subject(
    problem: ProblemName, subject: Subject, request: Request
) -> dict[str, Any]:
    """Remove the data of a subject in one problem. Repeating the request is safe."""
    state, known = get_state(request), await get_problem(request, problem)
    try:
        event = Withdrawn(problem=known.id, subject=subject)
    except (ValueError, TypeError) as error:
        raise ApiError(422, str(error), field="subject") from None
    return _withdrawal(state, await state.record(event))


@router.delete("/v1/subjects/{subject:text}", response_model=Withdrawal)
@require_scope("withdraw")
async def withdraw_subject_everywhere(subject: Subject, request: Request) -> dict[str, Any]:
    """Remove the data of a subject in all problems. Repeating the request is safe."""
    state = get_state(request)
    try:
        outcomes = await state.slow_threads.run(lambda: state.ledger.withdraw(subject=subject))
    except (ValueError, TypeError) as error:
        raise ApiError(422, str(error), field="subject") from None
    return _withdrawal(state, outcomes)


def _withdrawal(state: AppState, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    recorded = [check_outcome(outcome) for outcome in outcomes if not isinstance(outcome, NotFound)]
    if not recorded:
        return {"result": "nothing kept", "seq": None}
    state.host.wake()
    return {"result": "recorded", "seq": recorded[-1].seq}
