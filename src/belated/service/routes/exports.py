"""Routes that export the events of a problem, and the rejected requests in the quarantine."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Annotated, BinaryIO, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from belated.ledger.quarantine import QuarantinedRequest
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import error_responses
from belated.service.export import build_parquet, event_line
from belated.service.models.common import MAX_INT32, ProblemName
from belated.service.models.exports import LedgerEvent, RejectedRequest
from belated.service.routes.common import get_problem, ndjson_response, stream_lines
from belated.service.state import AppState, WorkerThreads, get_state

router = APIRouter(route_class=AuthorizedRoute, tags=["exports"])

PARQUET: Final = "application/vnd.apache.parquet"
FILE_CHUNK_BYTES: Final = 1 << 18
"""Number of bytes in one chunk of a streamed file."""

After = Annotated[int, Query(ge=0, lt=2**63, examples=[0])]
Limit = Annotated[int | None, Query(ge=1, le=MAX_INT32, examples=[1000])]

QUARANTINE: Final = ndjson_response(
    RejectedRequest, "One rejected request on each line, in order of id."
)


@router.get(
    "/v1/problems/{problem}/events",
    response_class=StreamingResponse,
    responses={
        **ndjson_response(LedgerEvent, "One event on each line, in order."),
        **error_responses(404),
    },
)
@require_scope("export")
async def export_events(
    problem: ProblemName, request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """Export the events of a problem in order of `seq`, one JSON object on each line.

    To continue an earlier export, set `after` to the last `seq` of that export.
    """
    state, known = get_state(request), await get_problem(request, problem)
    events = state.ledger.events(known.id, after=after, limit=limit)
    return stream_lines(state, map(event_line, events))


@router.get(
    "/v1/problems/{problem}/events.parquet",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "All events, in order, with bodies in JSON.",
            "content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}},
        },
        **error_responses(404),
    },
)
@require_scope("export")
async def export_parquet(problem: ProblemName, request: Request) -> StreamingResponse:
    """Export all events of a problem as a Parquet file."""
    state, known = get_state(request), await get_problem(request, problem)
    file = await state.slow_threads.run(build_parquet, state.ledger, known.id)
    return FileStream(file, state.slow_threads, f"{known.name}.parquet")


class FileStream(StreamingResponse):
    """Response that sends the open `file` to the client under the file name `name`.

    The file is read in one of `threads`. It is closed at the end, even if the client disconnects.
    Range headers are ignored, because each request creates a new file.
    """

    media_type = PARQUET

    def __init__(self, file: BinaryIO, threads: WorkerThreads, name: str) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await threads.run(file.read, FILE_CHUNK_BYTES):
                yield chunk

        headers = {
            "Content-Length": str(os.fstat(file.fileno()).st_size),
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        super().__init__(chunks(), headers=headers)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


@router.get(
    "/v1/problems/{problem}/quarantine",
    response_class=StreamingResponse,
    responses={**QUARANTINE, **error_responses(404)},
)
@require_scope("export")
async def read_quarantine(
    problem: ProblemName, request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """Export the rejected requests of a problem in order of `id`, one JSON object on each line.

    To continue an earlier export, set `after` to the last `id` of that export. A request that is
    rejected repeatedly is stored once: it keeps its `id`, and `times` is incremented.
    """
    state, known = get_state(request), await get_problem(request, problem)
    return _stream(state, state.ledger.quarantine.read(known.id, after=after, limit=limit))


@router.get("/v1/quarantine", response_class=StreamingResponse, responses=QUARANTINE)
@require_scope("admin")
async def read_whole_quarantine(
    request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """Export all rejected requests in order of `id`, one JSON object on each line.

    These are the requests of all problems, and requests that belong to no problem, such as invalid
    definitions of problems.
    """
    state = get_state(request)
    return _stream(state, state.ledger.quarantine.read(after=after, limit=limit))


def _stream(state: AppState, rejected: Iterator[QuarantinedRequest]) -> StreamingResponse:
    @cache
    def problem_name(id: int | None) -> str | None:
        problem = None if id is None else state.ledger.problem(id)
        return None if problem is None else problem.name

    return stream_lines(
        state, (rejected_line(item, problem_name(item.problem)) for item in rejected)
    )


def rejected_line(rejected: QuarantinedRequest, problem: str | None) -> str:
    """Return the request `rejected` as a line of JSON.

    `problem` is the name of the problem to which the request belongs, or None if it is unknown.
    """
    fields = {**vars(rejected), "problem": problem}
    body = fields.pop("text") or "null"
    if not is_json(body):
        body = json.dumps(body)
    return f'{json.dumps(fields)[:-1]}, "body": {body}}}\n'


def is_json(text: str) -> bool:
    """Return whether `text` is valid JSON according to the standard, without NaN and Infinity.

    >>> is_json("[1]"), is_json("[NaN]")
    (True, False)
    """

    def reject(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=reject)
    except (ValueError, RecursionError):
        return False
    return True
