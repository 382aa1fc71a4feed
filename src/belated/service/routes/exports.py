"""Exports: the ledger of a problem, to take away."""

import os
from collections.abc import AsyncIterator
from typing import Annotated, BinaryIO, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from belated.service import models
from belated.service.errors import documented
from belated.service.export import parquet_of, piece
from belated.service.guard import Guarded, scope
from belated.service.routes.common import inline_schema, problem_of
from belated.service.state import Aside, state_of

router = APIRouter(route_class=Guarded, tags=["exports"])

NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"
CHUNK: Final = 1 << 18
"""How many bytes of a file to send at a time."""


@router.get(
    "/v1/problems/{problem}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "An event on each line, in order.",
            "content": {
                NDJSON: {
                    "schema": inline_schema(models.LedgerEvent),
                    "example": models.example_of(models.LedgerEvent),
                }
            },
        },
        **documented(404),
    },
)
@scope("export")
async def export_events(
    problem: models.ProblemName,
    request: Request,
    after: Annotated[int, Query(ge=0, lt=2**63, examples=[0])] = 0,
    limit: Annotated[int | None, Query(ge=1, le=models.MOST, examples=[1000])] = None,
) -> StreamingResponse:
    """The events of a problem; to go on later, ask for those after the last seq."""
    state, known = state_of(request), await problem_of(request, problem)
    events = state.ledger.events(known.id, after=after, limit=limit)

    async def lines() -> AsyncIterator[bytes]:
        while some := await state.slow(piece, events):
            yield some

    return StreamingResponse(lines(), media_type=NDJSON)


@router.get(
    "/v1/problems/{problem}/events.parquet",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "All events, in order, with bodies in JSON.",
            "content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(404),
    },
)
@scope("export")
async def export_parquet(problem: models.ProblemName, request: Request) -> StreamingResponse:
    """The events of a problem, as Parquet."""
    state, known = state_of(request), await problem_of(request, problem)
    file = await state.slow(parquet_of, state.ledger, known.id)
    return FileStream(file, state.slow, f"{known.name}.parquet")


class FileStream(StreamingResponse):
    """Sends an open file, and closes it also when nobody reads it to the end.

    It comes whole, whatever range is asked for: the next request would make another file.
    """

    media_type = PARQUET

    def __init__(self, file: BinaryIO, slow: Aside, name: str) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            while some := await slow(file.read, CHUNK):
                yield some

        headers = {
            "Content-Length": str(os.fstat(file.fileno()).st_size),
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        super().__init__(pieces(), headers=headers)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)
