"""Routes that read policies, their versions, and the status and history of a problem."""

from typing import Annotated, Any, Final

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse

from belated.ledger.problems import Problem
from belated.service.auth import Routes
from belated.service.errors import ApiError
from belated.service.policies import policy_changes
from belated.service.responses import Diff, History, Policy, Status, Versions
from belated.service.schemas import ProblemName, QueryVersion, Version
from belated.service.state import AppState, get_problem
from belated.service.status import history_of, status_of

routes = Routes("policies", "/v1/problems/{problem}")

# FastAPI cannot infer that the routes with these options read the header If-None-Match.
POLICY_OPTIONS: Final[dict[str, Any]] = {
    "responses": {304: {"description": "Not modified."}},
    "openapi_extra": {
        "parameters": [
            {
                "name": "If-None-Match",
                "in": "header",
                "required": False,
                "description": "ETag of the policy that the client has.",
                "schema": {"type": "string"},
            }
        ]
    },
}


@routes.add("GET", "/policy", "read", Policy, **POLICY_OPTIONS)
async def read_policy(problem: ProblemName, request: Request) -> Response:
    """Return the served version of the policy."""
    state, known = await get_problem(request, problem)
    served = await state.served(known)
    return await _policy_response(request, state, known, served.version)


@routes.add("GET", "/policy/diff", "read", Diff)
async def compare_policies(
    problem: ProblemName,
    request: Request,
    old: Annotated[QueryVersion, Query(alias="from")],
    new: Annotated[QueryVersion, Query(alias="to")],
) -> Response:
    """Return the differences between the versions `from` and `to` of the policy."""
    state, known = await get_problem(request, problem)
    before, after = [await state.policy(known, version) for version in (old, new)]
    if before is None or after is None:
        raise version_not_found(old if before is None else new)
    changes = await state.query_threads.run(policy_changes, known.spec, before, after)
    epsilon = (before.epsilon, after.epsilon)
    return JSONResponse(Diff(old=old, new=new, epsilon=epsilon, changes=changes))


@routes.add("GET", "/policy/{version}", "read", Policy, **POLICY_OPTIONS)
async def read_version(problem: ProblemName, version: Version, request: Request) -> Response:
    """Return one version of the policy. A published version never changes."""
    state, known = await get_problem(request, problem)
    return await _policy_response(request, state, known, version)


@routes.add("GET", "/versions", "read", Versions)
async def list_versions(problem: ProblemName, request: Request) -> Response:
    """Return all versions of the policy, oldest first."""
    state, known = await get_problem(request, problem)
    versions = await state.query_threads.run(state.ledger.policies.versions, known.id)
    return JSONResponse({"versions": [vars(version) for version in versions]})


@routes.add("GET", "/status", "read", Status)
async def read_status(problem: ProblemName, request: Request) -> Response:
    """Return the status of a problem.

    The status includes the number of episodes in flight, its upper bound psi, the ages of these
    episodes, and the served version.
    """
    state, known = await get_problem(request, problem)
    serving = (await state.served(known)).state
    fold = await state.status(known)
    return JSONResponse(status_of(known.name, serving, fold, now=state.ledger.store.now()))


@routes.add("GET", "/history", "read", History)
async def read_history(problem: ProblemName, request: Request) -> Response:
    """Return the history of a problem: statistics of its episodes by time and by version.

    Both statistics contain the number of opened episodes and the number of episodes whose feedback
    is complete. The statistics by time also contain delays. The statistics by version also contain
    mean returns, that is, means of the sum of rewards of an episode.
    """
    state, known = await get_problem(request, problem)
    return JSONResponse(history_of(known.name, await state.status(known)))


async def _policy_response(
    request: Request, state: AppState, problem: Problem, version: int
) -> Response:
    """Return a response with this `version` of the policy, or a 304 if the client has it already.

    Raises ApiError (404) if the version does not exist.
    """
    document = await state.document(problem, version)
    if document is None:
        raise version_not_found(version)
    headers = {"ETag": document.etag, "Cache-Control": "private, no-cache"}
    given = request.headers.get("if-none-match")
    if given is not None:
        known = [tag.strip().removeprefix("W/") for tag in given.split(",")]
        if document.etag in known or "*" in known:
            return Response(status_code=304, headers=headers)
    return Response(document.text, media_type="application/json", headers=headers)


def version_not_found(version: int) -> ApiError:
    """Return an ApiError (404) which states that `version` does not exist."""
    return ApiError(404, f"Version {version} not found.", field="version")
