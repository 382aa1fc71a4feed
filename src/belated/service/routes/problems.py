"""Problems: defined once, and read."""

from typing import Any

from fastapi import APIRouter, Request, Response

from belated.episode import Policy
from belated.ledger.events import Defined, Published
from belated.ledger.outcomes import Recorded
from belated.ledger.problems import Problem, ProblemSpec
from belated.online.learner_factory import build_learner
from belated.service import models
from belated.service.answers import check
from belated.service.errors import RefusalError, documented
from belated.service.guard import Guarded, scope
from belated.service.routes.common import problem_of
from belated.service.state import state_of

router = APIRouter(route_class=Guarded, tags=["problems"])


@router.post(
    "/v1/problems",
    status_code=201,
    response_model=models.Problem,
    responses={
        200: {"model": models.Problem, "description": "It was defined already, just so."},
        **documented(409, 413),
    },
)
@scope("admin")
async def define_problem(
    given: models.NewProblem, request: Request, response: Response
) -> dict[str, Any]:
    """Define a problem. A name is defined once; the same again is a repeat."""
    state = state_of(request)
    cells = given.horizon * len(given.states) * len(given.actions)
    if cells > state.settings.cells:
        raise RefusalError(
            422,
            f"horizon x states x actions is {cells}; it must be at most {state.settings.cells}.",
            field="horizon",
        )
    spec, policy = await state.slow(_made, given.model_dump())
    outcome = check((await state.record(Defined(spec)))[0])
    state.directory.add(Problem(outcome.seq, spec))
    await state.record(Published(outcome.seq, 1, policy))
    response.status_code = 201 if isinstance(outcome, Recorded) else 200
    return spec.body


@router.get("/v1/problems", response_model=models.Problems)
@scope("read")
async def list_problems(request: Request) -> dict[str, Any]:
    """All problems, oldest first."""
    state = state_of(request)
    problems = await state.quick(state.ledger.problems)
    return {"problems": [problem.spec.body for problem in problems]}


@router.get("/v1/problems/{problem}", response_model=models.Problem, responses=documented(404))
@scope("read")
async def read_problem(problem: models.ProblemName, request: Request) -> dict[str, Any]:
    """A problem as it was defined."""
    return (await problem_of(request, problem)).spec.body


def _made(body: dict[str, Any]) -> tuple[ProblemSpec, Policy]:
    """The spec, and the policy of no data; whatever a learner objects to is the caller's."""
    try:
        spec = ProblemSpec.of(body)
        return spec, build_learner(spec).policy
    except (ValueError, TypeError) as error:
        raise RefusalError(422, str(error)) from None
    except Exception as error:
        raise RefusalError(
            422, f"No learner can be made of this: {type(error).__name__}: {error}."
        ) from None
