"""Routes that define problems and return their definitions."""

import asyncio
import math
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

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
from belated.service.requests.parsing import parse_model
from belated.service.requests.validation import definition_error
from belated.service.routes.common import get_problem, json_body
from belated.service.state import AppState, get_state

router = APIRouter(prefix="/v1/problems", route_class=AuthorizedRoute, tags=["problems"])


@router.post(
    "",
    status_code=201,
    response_model=Problem,
    responses={
        200: {"model": Problem, "description": "Already defined in the same way."},
        **error_responses(409, 413),
    },
    openapi_extra=json_body(NewProblem),
)
@require_scope("admin", bypass_validation=True)
async def define_problem(request: Request) -> Response:
    """Define a problem.

    A definition cannot be changed later. If the same definition is sent again, the response is 200,
    and nothing changes. A different definition with the same name is rejected with 409.
    """
    # A definition may be large, so it is parsed, planned and encoded in a thread.
    state, raw = get_state(request), await request.body()
    run, content_type = state.slow_threads.run, request.headers.get("content-type")
    spec, policy = await run(_first_policy, raw, content_type, state.settings.max_problem_cells)
    async with asyncio.timeout(state.settings.slow_timeout_s), state.defining:
        await state.query_threads.run(_check_limits, state, spec)
        outcome = check_outcome((await state.record(Defined(spec)))[0])
    state.ledger_cache.add_problem(LedgerProblem(outcome.seq, spec))
    await state.record(Published(outcome.seq, 1, policy))
    return await run(JSONResponse, spec.body, 201 if isinstance(outcome, Recorded) else 200)


@router.get("", response_model=Problems)
@require_scope("read", all_problems=True)
async def list_problems(
    request: Request,
    archived: Annotated[bool, Query(description="Whether to include archived problems.")] = False,
) -> Response:
    """Return the definitions of all problems, oldest first.

    Archived problems are included only on request, and have `"archived": true`. With a token that
    is restricted to one problem, only this problem is returned.
    """
    state, only = get_state(request), getattr(request.state, "problem", None)
    return await state.query_threads.run(_list_problems, state.ledger, archived, only)


@router.get("/{problem}", response_model=Problem, responses=error_responses(404))
@require_scope("read")
async def read_problem(problem: ProblemName, request: Request) -> Response:
    """Return the definition of a problem."""
    spec = (await get_problem(request, problem)).spec
    return await get_state(request).query_threads.run(lambda: JSONResponse(spec.body))


def _list_problems(ledger: Ledger, include_archived: bool, only: int | None) -> Response:
    """Return the response with the definitions of all problems, oldest first.

    If `only` is not None, it contains only the problem with this id. Archived problems are included
    if `include_archived` is True.
    """
    archived = ledger.archived()
    problems = [
        {**problem.spec.body, "archived": True} if problem.id in archived else problem.spec.body
        for problem in ledger.problems()
        if (include_archived or problem.id not in archived) and only in (None, problem.id)
    ]
    return JSONResponse({"problems": problems})


def _first_policy(
    raw: bytes, content_type: str | None, max_cells: int
) -> tuple[ProblemSpec, Policy]:
    """Return the definition in a request as a specification, and the policy planned without data.

    Parameters
    ----------
    raw : bytes
        Body of the request.
    content_type : str, optional
        Content type of the request; None if it has none.
    max_cells : int
        Maximum product of the numbers of steps, states and actions.

    Returns
    -------
    tuple of ProblemSpec and Policy
        Specification and policy.

    Raises
    ------
    ApiError or RequestValidationError
        If the definition is invalid, or if building the learner raises an exception (422).
    """
    given = parse_model(raw, content_type, NewProblem)
    sizes = [len(each) for each in given.states.values()] if isinstance(given.states, dict) else []
    states = math.prod(sizes) if sizes else len(given.states)
    cells = given.horizon * states * len(given.actions)
    if cells > max_cells:
        message = f"horizon x states x actions must be at most {max_cells}, got {cells}."
        raise ApiError(422, message, field="horizon")
    body = given.model_dump()
    try:
        spec = ProblemSpec.of(body)
        return spec, build_learner(spec).policy
    except (ValueError, TypeError) as error:
        raise definition_error(error) from None
    except Exception as error:
        message = f"Building a learner failed: {type(error).__name__}: {error}."
        raise ApiError(422, message) from None


def _check_limits(state: AppState, spec: ProblemSpec) -> None:
    """Raise ApiError (422) if the new problem `spec` would exceed a limit on all problems.

    The limits are `max_problems` and `max_total_cells`. A problem that is already defined is not
    checked.
    """
    problems, settings = state.ledger.problems(), state.settings
    if any(problem.name == spec.name for problem in problems):
        return
    if len(problems) >= settings.max_problems:
        message = f"The number of problems must be at most {settings.max_problems}."
        raise ApiError(422, message, field="name")
    total, cells = sum(_count_cells(problem.spec) for problem in problems), _count_cells(spec)
    if total + cells > settings.max_total_cells:
        message = (
            "The sum of horizon x states x actions over all problems must be at most "
            f"{settings.max_total_cells}; it is {total}, and this problem has {cells}. Define a "
            "smaller problem, or start the service with a larger --max-total-cells."
        )
        raise ApiError(422, message, field="horizon")


def _count_cells(spec: ProblemSpec) -> int:
    return spec.horizon * len(spec.states) * len(spec.actions)
