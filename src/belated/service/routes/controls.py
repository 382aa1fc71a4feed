"""Routes that control which version is served."""

from typing import Any

from fastapi import APIRouter, Request

from belated.ledger.events import Action, Control
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import check_outcome, error_responses
from belated.service.models.common import ProblemName
from belated.service.models.policies import RollBack, ServingState, Shadow
from belated.service.routes.common import get_problem, get_served
from belated.service.state import get_state
from belated.service.status import serving_json

router = APIRouter(prefix="/v1/problems/{problem}", route_class=AuthorizedRoute, tags=["controls"])


@router.post("/freeze", response_model=ServingState, responses=error_responses(404))
@require_scope("admin")
async def freeze(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Keep serving the current version although newer ones are published."""
    return await _control(request, problem, "freeze")


@router.post("/unfreeze", response_model=ServingState, responses=error_responses(404))
@require_scope("admin")
async def unfreeze(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Serve the newest version again, unless shadow mode is on."""
    return await _control(request, problem, "unfreeze")


@router.post("/rollback", response_model=ServingState, responses=error_responses(404, 413))
@require_scope("admin")
async def roll_back(problem: ProblemName, body: RollBack, request: Request) -> dict[str, Any]:
    """Serve an earlier version until unfreeze."""
    return await _control(request, problem, "roll_back", body.version)


@router.post("/shadow", response_model=ServingState, responses=error_responses(404, 413))
@require_scope("admin")
async def shadow(problem: ProblemName, body: Shadow, request: Request) -> dict[str, Any]:
    """Turn shadow mode on (publish new versions without serving them) or off."""
    return await _control(request, problem, "shadow_on" if body.on else "shadow_off")


async def _control(
    request: Request, name: str, action: Action, version: int | None = None
) -> dict[str, Any]:
    state, problem = get_state(request), await get_problem(request, name)
    event = Control(problem.id, action, version, by=request.state.caller)
    check_outcome((await state.record(event))[0])
    state.policies.invalidate(problem.id)
    return serving_json((await get_served(state, problem)).state)
