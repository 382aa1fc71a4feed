"""Helpers that several routes use."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, Final

from fastapi import Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from belated.ledger.problems import Problem
from belated.online.host import Failure
from belated.online.serving import ServedPolicy
from belated.online.status import ProblemStatus
from belated.service.errors import ApiError, unavailable
from belated.service.models.common import example_of
from belated.service.state import AppState, get_state

NDJSON: Final = "application/x-ndjson"
CHUNK_LINES: Final = 100
"""Number of lines that are sent at a time; a line may have 64 KiB."""
FOLD_CHECKS: Final = 100
"""Number of times that the status of a problem is requested before giving up."""
FOLD_CHECK_INTERVAL_S: Final = 0.1


async def get_problem(request: Request, name: str) -> Problem:
    """Return the problem called `name`; raise ApiError (404) in `request` if there is none."""
    problem = await get_state(request).ledger_cache.problem(name)
    if problem is None:
        raise ApiError(404, f"Problem {name[:100]!r} not found.")
    return problem


async def get_served(state: AppState, problem: Problem) -> ServedPolicy:
    """Return the served version of `problem`; raise ApiError (503) if `state` has none yet."""
    served = await state.policies.served(problem.id)
    if served is None:
        raise unavailable("No policy has been published yet.")
    return served


async def get_status(state: AppState, problem: Problem) -> ProblemStatus | Failure:
    """Return the status of `problem` from the host in `state`.

    While the host folds the problem for the first time this waits, without blocking a thread, and
    finally raises ApiError (503).
    """
    for _ in range(FOLD_CHECKS):
        status = await state.slow_threads.run(state.host.status_nowait, problem)
        if status is not None:
            return status
        await asyncio.sleep(FOLD_CHECK_INTERVAL_S)
    raise unavailable("The problem is still being folded.")


def stream_lines(state: AppState, lines: Iterator[str]) -> StreamingResponse:
    """Return a response that streams NDJSON. A thread of `state` computes the `lines`."""

    def next_chunk() -> bytes:
        return "".join(islice(lines, CHUNK_LINES)).encode()

    async def chunks() -> AsyncIterator[bytes]:
        while chunk := await state.slow_threads.run(next_chunk):
            yield chunk

    return StreamingResponse(chunks(), media_type=NDJSON)


def inline_schema(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a body that is one of `models`, without references."""
    schemas, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    known = definitions.get("$defs", {})

    def resolve(node: Any) -> Any:
        if isinstance(node, list):
            return [resolve(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return resolve(known[node["$ref"].removeprefix("#/$defs/")])
        return {key: resolve(value) for key, value in node.items()}

    resolved = [resolve(schemas[model, "validation"]) for model in models]
    return resolved[0] if len(resolved) == 1 else {"anyOf": resolved}


def json_body(*models: type[BaseModel]) -> dict[str, Any]:
    """Return OpenAPI's description of a JSON body that is one of `models`.

    For routes that parse the body themselves.
    """
    examples = {
        model.__name__: {"summary": (model.__doc__ or "").split(":")[0], "value": example_of(model)}
        for model in models
    }
    content = {"schema": inline_schema(*models), "examples": examples}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def ndjson_response(model: type[BaseModel], description: str) -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI's `description` of a response with one `model` on each line."""
    content = {"schema": inline_schema(model), "example": example_of(model)}
    return {200: {"description": description, "content": {NDJSON: content}}}
