"""Helper functions shared by several routes."""

import asyncio
from typing import Any, Final

from fastapi import Request
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
FOLD_CHECKS: Final = 100
"""Maximum number of attempts to read the status of a problem for one request."""
FOLD_CHECK_INTERVAL_S: Final = 0.1


async def get_problem(request: Request, name: str) -> Problem:
    """Return the problem called `name` of the application that received `request`.

    Raises ApiError (404) if there is no such problem.
    """
    problem = await get_state(request).ledger_cache.problem(name)
    if problem is None:
        raise ApiError(404, f"Problem {name[:100]!r} not found.")
    return problem


async def get_served(state: AppState, problem: Problem) -> ServedPolicy:
    """Return the served version of `problem`, as cached in `state`, and its policy.

    Raises ApiError (503) if no version has been published yet.
    """
    served = await state.policies.served(problem.id)
    if served is None:
        raise unavailable("No policy has been published yet.")
    return served


async def get_status(state: AppState, problem: Problem) -> ProblemStatus | Failure:
    """Return the status of `problem` from the host in `state`.

    The result is a `Failure` if the problem's state cannot be computed from its events. While the
    host computes this state for the first time, the function waits without blocking a thread. It
    raises ApiError (503) after `FOLD_CHECKS` attempts.
    """
    for _ in range(FOLD_CHECKS):
        status = await state.slow_threads.run(state.host.status_nowait, problem)
        if status is not None:
            return status
        await asyncio.sleep(FOLD_CHECK_INTERVAL_S)
    raise unavailable("The problem is still being folded.")


def inline_schema(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a body that is one of `models`, with all references resolved."""
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
    """Return the OpenAPI entry of a JSON request body that is one of `models`.

    This is for routes that parse the body themselves, without FastAPI.
    """
    examples = {
        model.__name__: {"summary": (model.__doc__ or "").split(":")[0], "value": example_of(model)}
        for model in models
    }
    content = {"schema": inline_schema(*models), "examples": examples}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def ndjson_response(model: type[BaseModel], description: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entry of an NDJSON response with one `model` on each line.

    `description` is the text that describes the response.
    """
    content = {"schema": inline_schema(model), "example": example_of(model)}
    return {200: {"description": description, "content": {NDJSON: content}}}
