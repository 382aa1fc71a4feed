"""Controls: what a person decides about the version that is served."""

from typing import Any

from fastapi import APIRouter, Request

from belated.ledger.events import Action, Control
from belated.service import models
from belated.service.answers import check
from belated.service.errors import documented
from belated.service.guard import Guarded, scope
from belated.service.routes.common import problem_of, served
from belated.service.state import state_of
from belated.service.status import choice_of

router = APIRouter(route_class=Guarded, tags=["controls"])


@router.post(
    "/v1/problems/{problem}/freeze", response_model=models.Choice, responses=documented(404)
)
@scope("admin")
async def freeze(problem: models.ProblemName, request: Request) -> dict[str, Any]:
    """Keep to the version that is served now."""
    return await _control(request, problem, "freeze")


@router.post(
    "/v1/problems/{problem}/unfreeze", response_model=models.Choice, responses=documented(404)
)
@scope("admin")
async def unfreeze(problem: models.ProblemName, request: Request) -> dict[str, Any]:
    """Serve the newest version again, unless shadow mode is on."""
    return await _control(request, problem, "unfreeze")


@router.post(
    "/v1/problems/{problem}/rollback", response_model=models.Choice, responses=documented(404, 413)
)
@scope("admin")
async def roll_back(
    problem: models.ProblemName, given: models.RollBack, request: Request
) -> dict[str, Any]:
    """Serve an older version until unfreeze."""
    return await _control(request, problem, "roll_back", given.version)


@router.post(
    "/v1/problems/{problem}/shadow", response_model=models.Choice, responses=documented(404, 413)
)
@scope("admin")
async def shadow(
    problem: models.ProblemName, given: models.Shadow, request: Request
) -> dict[str, Any]:
    """Learn and publish, but serve what is served now; or serve the newest again."""
    return await _control(request, problem, "shadow_on" if given.on else "shadow_off")


async def _control(
    request: Request, problem: str, action: Action, version: int | None = None
) -> dict[str, Any]:
    state, known = state_of(request), await problem_of(request, problem)
    event = Control(known.id, action, version, by=request.state.caller)
    check((await state.record(event))[0])
    state.board.forget(known.id)
    return choice_of((await served(state, known)).state)
