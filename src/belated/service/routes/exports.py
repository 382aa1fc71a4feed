"""Exports: the ledger of a problem, to take away."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from belated.service import models
from belated.service.errors import documented
from belated.service.export import piece, write_parquet
from belated.service.guard import Guarded, scope
from belated.service.routes.common import inline_schema, problem_of
from belated.service.state import state_of

router = APIRouter(route_class=Guarded, tags=["exports"])

NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"


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
    response_class=FileResponse,
    responses={
        200: {
            "description": "All events, in order, with bodies in JSON.",
            "content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(404),
    },
)
@scope("export")
async def export_parquet(problem: models.ProblemName, request: Request) -> FileResponse:
    """The events of a problem, as Parquet."""
    state, known = state_of(request), await problem_of(request, problem)
    folder = Path(tempfile.mkdtemp(prefix="belated-"))  # for its owner alone
    try:
        file = await state.slow(write_parquet, state.ledger, known.id, folder)
    except BaseException:
        shutil.rmtree(folder)
        raise
    return FileResponse(
        file,
        media_type=PARQUET,
        filename=f"{known.name}.parquet",
        background=BackgroundTask(shutil.rmtree, folder),
    )
