"""Routes that export the events of a problem, and the rejected requests in the quarantine."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from itertools import islice
from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from belated.ledger.clients import QuarantinedRequest
from belated.ledger.export import build_parquet, event_line
from belated.service.auth import Routes
from belated.service.errors import unavailable
from belated.service.openapi import NDJSON, ndjson_response
from belated.service.responses import LedgerEvent, RejectedRequest
from belated.service.schemas import MAX_INT32, ProblemName
from belated.service.state import AppState, get_problem, get_state

routes = Routes("exports")

PARQUET: Final = "application/vnd.apache.parquet"
FILE_CHUNK_BYTES: Final = 1 << 18
"""Number of bytes in one chunk of a streamed file."""
CHUNK_LINES: Final = 100
"""Number of lines in one chunk of a streamed response. A line may have 64 KiB or more."""

After = Annotated[
    int,
    Query(
        ge=0,
        lt=2**63,
        examples=[0],
        description="Return only what follows this `seq` of an event, or `id` of a request.",
    ),
]
Limit = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_INT32,
        examples=[1000],
        description="Maximum number of lines; all if omitted.",
    ),
]

QUARANTINE: Final = ndjson_response(
    RejectedRequest, "One rejected request on each line, in order of id."
)


@routes.add(
    "GET",
    "/problems/{problem}/events",
    "export",
    responses=ndjson_response(LedgerEvent, "One event on each line, in order."),
)
async def export_events(
    problem: ProblemName, request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """Export the events of a problem in order of `seq`, one JSON object on each line.

    To continue an earlier export, set `after` to the last `seq` of that export.
    """
    state, known = await get_problem(request, problem)
    events = state.ledger.events(known.id, after=after, limit=limit)
    return await stream_lines(state, map(event_line, events))


@routes.add(
    "GET",
    "/problems/{problem}/events.parquet",
    "export",
    responses={
        200: {
            "description": "All events, in order, with bodies in JSON.",
            "content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}},
        },
    },
)
async def export_parquet(problem: ProblemName, request: Request) -> StreamingResponse:
    """Export all events of a problem as a Parquet file."""
    state, known = await get_problem(request, problem)
    with await begin_export(state) as resources:
        build = partial(build_parquet, state.ledger, known.id)
        file = resources.enter_context(await state.export_threads.run(build))
        headers = {
            "Content-Length": str(os.fstat(file.fileno()).st_size),
            "Content-Disposition": f'attachment; filename="{known.name}.parquet"',
        }
        read_chunk = partial(file.read, FILE_CHUNK_BYTES)
        return ExportStream(state, read_chunk, resources.pop_all(), PARQUET, headers)


@routes.add("GET", "/problems/{problem}/quarantine", "export", responses=QUARANTINE)
async def read_quarantine(
    problem: ProblemName, request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """Export the rejected requests of a problem in order of `id`, one JSON object on each line.

    To continue an earlier export, set `after` to the last `id` of that export. A request that is
    rejected repeatedly is stored once: it keeps its `id`, and `times` is incremented.
    """
    state, known = await get_problem(request, problem)
    rejected = state.ledger.quarantine.read(known.id, after=after, limit=limit)
    return await stream_lines(state, rejected_lines(state, rejected))


@routes.add("GET", "/quarantine", "admin", responses=QUARANTINE)
async def read_whole_quarantine(
    request: Request, after: After = 0, limit: Limit = None
) -> StreamingResponse:
    """Export all rejected requests in order of `id`, one JSON object on each line.

    These are the requests of all problems, and requests that belong to no problem, such as invalid
    definitions of problems.
    """
    state = get_state(request)
    rejected = state.ledger.quarantine.read(after=after, limit=limit)
    return await stream_lines(state, rejected_lines(state, rejected))


async def begin_export(state: AppState) -> ExitStack:
    """Begin an export, and return its resources, which must be closed at its end.

    Raises ApiError (429) if there are `max_exports` exports already.
    """
    if state.exports.locked():
        count = state.settings.max_exports
        raise unavailable(f"There are {count} exports at the moment, the maximum.", 429)
    await state.exports.acquire()
    resources = ExitStack()
    resources.callback(state.exports.release)
    return resources


class ExportStream(StreamingResponse):
    """Response that streams an export. Range headers are ignored.

    Parameters
    ----------
    state : AppState
        State of the application, whose export threads are used.
    read_chunk : callable
        Function that returns the next bytes, empty at the end. It may block.
    resources : ExitStack
        Resources of the export, which are closed at the end, even if the client disconnects.
    media_type : str
        Content type of the response.
    headers : dict, optional
        Additional headers of the response.
    """

    def __init__(
        self,
        state: AppState,
        read_chunk: Callable[[], bytes],
        resources: ExitStack,
        media_type: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await state.export_threads.run(read_chunk):
                yield chunk

        super().__init__(chunks(), headers=headers, media_type=media_type)
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._resources:
            await super().__call__(scope, receive, send)


async def stream_lines(state: AppState, lines: Iterator[str]) -> StreamingResponse:
    """Return a response that streams `lines` as NDJSON.

    Iterating over `lines` may block, and takes place in an export thread of `state`. Raises
    ApiError (429) if there are too many exports.
    """

    def read_chunk() -> bytes:
        return "".join(islice(lines, CHUNK_LINES)).encode()

    return ExportStream(state, read_chunk, await begin_export(state), NDJSON)


def rejected_lines(state: AppState, rejected: Iterator[QuarantinedRequest]) -> Iterator[str]:
    """Yield each of the `rejected` requests as a line of JSON."""

    @cache
    def problem_name(id: int | None) -> str | None:
        problem = None if id is None else state.ledger.problem(id)
        return None if problem is None else problem.name

    for each in rejected:
        fields = {**vars(each), "problem": problem_name(each.problem)}
        body = fields.pop("text") or "null"
        if not is_json(body):
            body = json.dumps(body)
        yield f'{json.dumps(fields)[:-1]}, "body": {body}}}\n'


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
