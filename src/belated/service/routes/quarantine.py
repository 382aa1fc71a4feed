"""Quarantine: what was refused, to be read."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from itertools import islice
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from belated.ledger.quarantine import QuarantinedRequest
from belated.service import models
from belated.service.errors import documented
from belated.service.guard import Guarded, scope
from belated.service.routes.common import inline_schema, problem_of
from belated.service.state import State, state_of

router = APIRouter(route_class=Guarded, tags=["exports"])

NDJSON: Final = "application/x-ndjson"
PIECE: Final = 100
"""How many refusals to write at a time."""

After = Annotated[int, Query(ge=0, lt=2**63, examples=[0])]
Limit = Annotated[int | None, Query(ge=1, le=models.MOST, examples=[1000])]

LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A refusal on each line, in order of id.",
        "content": {
            NDJSON: {
                "schema": inline_schema(models.Refusal),
                "example": models.example_of(models.Refusal),
            }
        },
    }
}


@router.get(
    "/v1/problems/{problem}/quarantine",
    response_class=StreamingResponse,
    responses={**LINES, **documented(404)},
)
@scope("export")
async def read_quarantine(
    problem: models.ProblemName, request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """What was refused of a problem; to go on later, ask for those after the last id.

    The same again is not told anew, but counted.
    """
    state, known = state_of(request), await problem_of(request, problem)
    refusals = state.ledger.quarantine.read(known.id, after=after, limit=limit)
    return streamed(state, refusals)


@router.get("/v1/quarantine", response_class=StreamingResponse, responses=LINES)
@scope("admin")
async def read_whole_quarantine(
    request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """All that was refused, whatever problem it is of; what is of none is here alone, such as
    definitions of problems."""
    state = state_of(request)
    return streamed(state, state.ledger.quarantine.read(after=after, limit=limit))


def streamed(state: State, refusals: Iterator[QuarantinedRequest]) -> StreamingResponse:
    """A line for each, some at a time."""

    @cache
    def name(problem: int | None) -> str | None:
        known = None if problem is None else state.ledger.problem(problem)
        return None if known is None else known.name

    async def lines() -> AsyncIterator[bytes]:
        while some := await state.slow(piece, refusals, name):
            yield some

    return StreamingResponse(lines(), media_type=NDJSON)


def piece(
    refusals: Iterator[QuarantinedRequest], name: Callable[[int | None], str | None]
) -> bytes:
    """The next lines; none at the end."""
    return "".join(line(one, name(one.problem)) for one in islice(refusals, PIECE)).encode()


def line(refusal: QuarantinedRequest, problem: str | None) -> str:
    """One refusal; its body is JSON already, or becomes a text."""
    said = {**vars(refusal), "problem": problem}
    body = said.pop("text") or "null"
    if not is_json(body):
        body = json.dumps(body)
    return f'{json.dumps(said)[:-1]}, "body": {body}}}\n'


def is_json(text: str) -> bool:
    """Whether others than Python can read it.

    >>> is_json("[1]"), is_json("[NaN]")
    (True, False)
    """
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
