"""Routes that define problems, return their definitions, archive them, and control serving."""

import asyncio
import math
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse

from belated.episode import Policy
from belated.ledger.events import Recorded
from belated.ledger.kinds import Action, Control, Defined, Published
from belated.ledger.ledger import Ledger
from belated.ledger.problems import ProblemSpec
from belated.online.learner_factory import build_learner
from belated.service.auth import Routes
from belated.service.bodies import check_outcome, outcome_response, parse_body, read_body
from belated.service.errors import ApiError, invalid_value
from belated.service.openapi import json_body
from belated.service.responses import Receipt, ServingState
from belated.service.schemas import (
    NewProblem,
    Problem,
    ProblemName,
    Problems,
    RollBack,
    Shadow,
)
from belated.service.state import AppState, get_problem, get_state
from belated.service.status import serving_state

routes = Routes("problems", "/v1/problems")
controls = Routes("controls", "/v1/problems/{problem}")


@routes.add(
    "POST",
    "",
    "admin",
    Problem,
    repeated="Already defined in the same way.",
    errors=(409,),
    openapi_extra=json_body(NewProblem),
)
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
    await state.record(Published(outcome.seq, 1, policy))
    return await run(JSONResponse, spec.body, 201 if isinstance(outcome, Recorded) else 200)


@routes.add("GET", "", "read", Problems, all_problems=True)
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


@routes.add("GET", "/{problem}", "read", Problem)
async def read_problem(problem: ProblemName, request: Request) -> Response:
    """Return the definition of a problem."""
    state, known = await get_problem(request, problem)
    return await state.query_threads.run(JSONResponse, known.spec.body)


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

    `raw` is the body of the request, of the given `content_type`. Raises ApiError (422) if the
    definition is invalid, if it has more than `max_cells` combinations of step, state and action,
    or if building the learner raises an exception.
    """
    given = parse_body(raw, content_type, NewProblem)
    cells = given.horizon * _count(given.states) * _count(given.actions)
    if cells > max_cells:
        message = f"horizon x states x actions must be at most {max_cells}, got {cells}."
        raise ApiError(422, message, field="horizon")
    try:
        spec = ProblemSpec.of(dict(given))
        return spec, build_learner(spec).policy
    except (ValueError, TypeError) as error:
        raise invalid_value(error, NewProblem.model_fields) from None
    except Exception as error:
        message = f"Building a learner failed: {type(error).__name__}: {error}."
        raise ApiError(422, message) from None


def _count(names: object) -> int:
    """Return the number of states or actions in a definition that has not been checked."""
    if isinstance(names, dict):
        return math.prod(len(values) for values in names.values() if isinstance(values, list))
    return len(names) if isinstance(names, list) else 0


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


@controls.add("POST", "/freeze", "admin", ServingState)
async def freeze(problem: ProblemName, request: Request) -> Response:
    """Keep serving the current version, even when newer versions are published."""
    return await _control(request, problem, "freeze")


@controls.add("POST", "/unfreeze", "admin", ServingState)
async def unfreeze(problem: ProblemName, request: Request) -> Response:
    """Serve the newest version again, unless shadow mode is on."""
    return await _control(request, problem, "unfreeze")


@controls.add("POST", "/rollback", "admin", ServingState, openapi_extra=json_body(RollBack))
async def roll_back(problem: ProblemName, request: Request) -> Response:
    """Serve an earlier version until the problem is unfrozen."""
    body = await read_body(request, RollBack)
    return await _control(request, problem, "roll_back", body.version)


@controls.add("POST", "/shadow", "admin", ServingState, openapi_extra=json_body(Shadow))
async def shadow(problem: ProblemName, request: Request) -> Response:
    """Turn shadow mode on or off. In shadow mode, new versions are published but not served."""
    body = await read_body(request, Shadow)
    return await _control(request, problem, "shadow_on" if body.on else "shadow_off")


@controls.add("POST", "/archive", "admin", Receipt)
async def archive(problem: ProblemName, request: Request) -> Response:
    """Archive a problem: no episodes can be opened, and lists omit it.

    Feedback, corrections and withdrawals are still accepted, and the policy is still updated.
    """
    return await _archive(request, problem, "archive")


@controls.add("POST", "/unarchive", "admin", Receipt)
async def unarchive(problem: ProblemName, request: Request) -> Response:
    """Unarchive a problem: episodes can be opened again, and lists include the problem."""
    return await _archive(request, problem, "unarchive")


async def _archive(request: Request, name: str, action: Action) -> Response:
    state, problem = await get_problem(request, name)
    [outcome] = await state.record(Control(problem.id, action, by=request.state.caller))
    return JSONResponse(outcome_response(check_outcome(outcome))[1])


async def _control(
    request: Request, name: str, action: Action, version: int | None = None
) -> Response:
    state, problem = await get_problem(request, name)
    event = Control(problem.id, action, version, by=request.state.caller)
    check_outcome((await state.record(event))[0])
    state.forget_served(problem)
    return JSONResponse(serving_state((await state.served(problem)).state))
