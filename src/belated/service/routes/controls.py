"""Routes that control which version of a policy is served, and that archive problems."""

from typing import Any

from fastapi import APIRouter, Request

from belated.ledger.events import Action, Control
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import check_outcome, error_responses, outcome_response
from belated.service.models.common import ProblemName
from belated.service.models.feedback import Receipt
from belated.service.models.policies import RollBack, ServingState, Shadow
from belated.service.routes.common import get_problem, get_served
from belated.service.state import get_state
from belated.service.status import serving_json

router = APIRouter(prefix="/v1/problems/{problem}", route_class=AuthorizedRoute, tags=["controls"])


@router.post("/freeze", response_model=ServingState, responses=error_responses(404))
@require_scope("admin")
async def freeze(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Keep serving the current version, even when newer versions are published."""
    return await _control(request, problem, "freeze")


@router.post("/unfreeze", response_model=ServingState, responses=error_responses(404))
@require_scope("admin")
async def unfreeze(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Serve the newest version again, unless shadow mode is on."""
    return await _control(request, problem, "unfreeze")


@router.post("/rollback", response_model=ServingState, responses=error_responses(404, 413))
@require_scope("admin")
async def roll_back(problem: ProblemName, body: RollBack, request: Request) -> dict[str, Any]:
    """Serve an earlier version until the problem is unfrozen."""
    return await _control(request, problem, "roll_back", body.version)


@router.post("/shadow", response_model=ServingState, responses=error_responses(404, 413))
@require_scope("admin")
async def shadow(problem: ProblemName, body: Shadow, request: Request) -> dict[str, Any]:
    """Turn shadow mode on or off. In shadow mode, new versions are published but not served."""
    return await _control(request, problem, "shadow_on" if body.on else "shadow_off")


@router.post("/archive", response_model=Receipt, responses=error_responses(404))
@require_scope("admin")
async def archive(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Archive a problem: no episodes can be opened, and lists omit it.

    Feedback, corrections and withdrawals are still accepted, and the policy is still updated.
    """
    return await _archive(request, problem, "archive")


@router.post("/unarchive", response_model=Receipt, responses=error_responses(404))
@require_scope("admin")
async def unarchive(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Unarchive a problem: episodes can be opened again, and lists include the problem."""
    return await _archive(request, problem, "unarchive")


async def _archive(request: Request, name: str, action: Action) -> dict[str, Any]:
    problem = await get_problem(request, name)
    event = Control(problem.id, action, by=request.state.caller)
    [outcome] = await get_state(request).record(event)
    return outcome_response(check_outcome(outcome))[1]


async def _control(
    request: Request, name: str, action: Action, version: int | None = None
) -> dict[str, Any]:
    state, problem = get_state(request), await get_problem(request, name)
    event = Control(problem.id, action, version, by=request.state.caller)
    check_outcome((await state.record(event))[0])
    state.policies.invalidate(problem.id)
    return serving_json((await get_served(state, problem)).state)
