"""Routes that define problems and return their definitions."""

import math
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from belated.episode import Policy
from belated.ledger.events import Defined, Published
from belated.ledger.ledger import Ledger
from belated.ledger.outcomes import Recorded
from belated.ledger.problems import Problem as LedgerProblem
from belated.ledger.problems import ProblemSpec
from belated.online.learner_factory import build_learner
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import ApiError, check_outcome, error_responses
from belated.service.models.common import ProblemName
from belated.service.models.problems import NewProblem, Problem, Problems
from belated.service.routes.common import get_problem
from belated.service.state import get_state

router = APIRouter(prefix="/v1/problems", route_class=AuthorizedRoute, tags=["problems"])


@router.post(
    "",
    status_code=201,
    response_model=Problem,
    response_model_exclude_unset=True,
    responses={
        200: {"model": Problem, "description": "Already defined in the same way."},
        **error_responses(409, 413),
    },
)
@require_scope("admin")
async def define_problem(body: NewProblem, request: Request, response: Response) -> dict[str, Any]:
    """Define a problem.

    A definition cannot be changed later. The same definition again is answered with 200 and has no
    effect; a different definition with the same name is rejected with 409.
    """
    state = get_state(request)
    max_cells = state.settings.max_problem_cells
    sizes = [len(each) for each in body.states.values()] if isinstance(body.states, dict) else []
    states = math.prod(sizes) if sizes else len(body.states)
    cells = body.horizon * states * len(body.actions)
    if cells > max_cells:
        message = f"horizon x states x actions must be at most {max_cells}, got {cells}."
        raise ApiError(422, message, field="horizon")
    spec, policy = await state.slow_threads.run(_first_policy, body.model_dump())
    outcome = check_outcome((await state.record(Defined(spec)))[0])
    state.ledger_cache.add_problem(LedgerProblem(outcome.seq, spec))
    await state.record(Published(outcome.seq, 1, policy))
    response.status_code = 201 if isinstance(outcome, Recorded) else 200
    return spec.body


@router.get("", response_model=Problems, response_model_exclude_unset=True)
@require_scope("read")
async def list_problems(
    request: Request,
    archived: Annotated[bool, Query(description="Whether to include archived problems.")] = False,
) -> dict[str, Any]:
    """Return the definitions of all problems, oldest first.

    Archived problems are included only on request, and have `"archived": true`.
    """
    state = get_state(request)
    problems, hidden = await state.query_threads.run(_read_problems, state.ledger)
    return {
        "problems": [
            {**problem.spec.body, "archived": True} if problem.id in hidden else problem.spec.body
            for problem in problems
            if archived or problem.id not in hidden
        ]
    }


def _read_problems(ledger: Ledger) -> tuple[list[LedgerProblem], set[int]]:
    """Return all problems of `ledger`, and the ids of the archived ones."""
    return ledger.problems(), ledger.archived()


@router.get(
    "/{problem}",
    response_model=Problem,
    response_model_exclude_unset=True,
    responses=error_responses(404),
)
@require_scope("read")
async def read_problem(problem: ProblemName, request: Request) -> dict[str, Any]:
    """Return the definition of a problem."""
    return (await get_problem(request, problem)).spec.body


def _first_policy(body: dict[str, Any]) -> tuple[ProblemSpec, Policy]:
    """Return the definition in `body` as a specification, and the policy planned without data.

    If building the learner raises an exception, the definition is invalid, and ApiError (422) is
    raised.
    """
    try:
        spec = ProblemSpec.of(body)
        return spec, build_learner(spec).policy
    except (ValueError, TypeError) as error:
        raise ApiError(422, str(error)) from None
    except Exception as error:
        message = f"Building a learner failed: {type(error).__name__}: {error}."
        raise ApiError(422, message) from None
