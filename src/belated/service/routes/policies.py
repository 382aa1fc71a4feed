"""Policies: what is served, what was, and where a problem stands."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from belated.ledger.problems import Problem
from belated.service import models
from belated.service.errors import RefusalError, documented
from belated.service.guard import Guarded, scope
from belated.service.history import history_of
from belated.service.plans import Page, diff
from belated.service.routes.common import problem_of, served, standing_of
from belated.service.state import State, state_of
from belated.service.status import status_of

router = APIRouter(route_class=Guarded, tags=["policies"])

FRESH = {304: {"description": "It is the one you have."}, **documented(404)}
# a plain route reads its own headers
TAGGED: dict[str, Any] = {
    "parameters": [
        {
            "name": "If-None-Match",
            "in": "header",
            "required": False,
            "description": "The ETag of the policy you have.",
            "schema": {"type": "string"},
        }
    ]
}


@router.get(
    "/v1/problems/{problem}/policy",
    response_model=models.Plan,
    responses=FRESH,
    openapi_extra=TAGGED,
)
@scope("read", plain=True)
async def read_policy(problem: models.ProblemName, request: Request) -> Response:
    """The policy that is served now."""
    state, known = state_of(request), await problem_of(request, problem)
    version = (await served(state, known)).version
    return paged(await page_of(state, known, version), request)


@router.get(
    "/v1/problems/{problem}/policy/diff", response_model=models.Diff, responses=documented(404)
)
@scope("read")
async def compare_policies(
    problem: models.ProblemName,
    request: Request,
    old: Annotated[models.QueryVersion, Query(alias="from")],
    new: Annotated[models.QueryVersion, Query(alias="to")],
) -> dict[str, Any]:
    """Where two versions differ."""
    state, known = state_of(request), await problem_of(request, problem)
    before, after = [await state.board.policy(known.id, version) for version in (old, new)]
    if before is None or after is None:
        raise no_version(old if before is None else new)
    changes = await state.quick(diff, known.spec, before, after)
    epsilon = (before.epsilon, after.epsilon)
    return {"old": old, "new": new, "epsilon": epsilon, "changes": changes}


@router.get(
    "/v1/problems/{problem}/policy/{version}",
    response_model=models.Plan,
    responses=FRESH,
    openapi_extra=TAGGED,
)
@scope("read")
async def read_version(
    problem: models.ProblemName, version: models.Version, request: Request
) -> Response:
    """A version of the policy; it never changes."""
    state, known = state_of(request), await problem_of(request, problem)
    return paged(await page_of(state, known, version), request)


@router.get(
    "/v1/problems/{problem}/versions", response_model=models.Versions, responses=documented(404)
)
@scope("read")
async def list_versions(problem: models.ProblemName, request: Request) -> dict[str, Any]:
    """All versions of the policy, oldest first."""
    state, known = state_of(request), await problem_of(request, problem)
    versions = await state.quick(state.ledger.policies.versions, known.id)
    return {"versions": [vars(version) for version in versions]}


@router.get(
    "/v1/problems/{problem}/status", response_model=models.Status, responses=documented(404)
)
@scope("read")
async def read_status(problem: models.ProblemName, request: Request) -> dict[str, Any]:
    """What is missing now and how old it is, beside psi, and what has been made of the rest."""
    state, known = state_of(request), await problem_of(request, problem)
    choice = (await served(state, known)).state
    standing = await standing_of(state, known)
    return status_of(known.name, choice, standing, now=state.ledger.store.now())


@router.get(
    "/v1/problems/{problem}/history", response_model=models.History, responses=documented(404)
)
@scope("read")
async def read_history(problem: models.ProblemName, request: Request) -> dict[str, Any]:
    """What was opened and came back, how late, and what it earned, by time and by version."""
    state, known = state_of(request), await problem_of(request, problem)
    standing = await standing_of(state, known)
    return history_of(known.name, standing)


async def page_of(state: State, problem: Problem, version: int) -> Page:
    """A version written out, or an answer that there is none."""
    page = await state.board.page(problem, version)
    if page is None:
        raise no_version(version)
    return page


def no_version(version: int) -> RefusalError:
    """A sentence about a version."""
    return RefusalError(404, f"There is no version {version}.", field="version")


def paged(page: Page, request: Request) -> Response:
    """A policy, unless the caller has it."""
    headers = {"ETag": page.etag, "Cache-Control": "private, no-cache"}
    known = [
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    ]
    if page.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(page.text, media_type="application/json", headers=headers)
