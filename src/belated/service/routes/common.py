"""What routes share."""

import asyncio
from typing import Any, Final

from fastapi import Request
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from belated.ledger.problems import Problem
from belated.online.host import Failure
from belated.online.serving import ServedPolicy
from belated.online.status import ProblemStatus
from belated.service.errors import RefusalError, unavailable
from belated.service.models import example_of
from belated.service.state import State, state_of

LOOKS: Final = 100
"""How often to look where a problem stands before giving up."""
PAUSE: Final = 0.1
"""Seconds between two looks."""


async def problem_of(request: Request, name: str) -> Problem:
    """The problem of this name, or an answer that there is none."""
    known = await state_of(request).directory.problem(name)
    if known is None:
        raise RefusalError(404, f"There is no problem {name[:100]!r}.")
    return known


async def served(state: State, problem: Problem) -> ServedPolicy:
    """What is served, or an answer that it will be soon."""
    found = await state.board.served(problem.id)
    if found is None:
        raise unavailable("No policy has been published yet. Try again.")
    return found


async def standing_of(state: State, problem: Problem) -> ProblemStatus | Failure:
    """Where a problem stands; while it is first folded this waits, but keeps no thread waiting."""
    for _ in range(LOOKS):
        found = await state.slow(state.host.status_nowait, problem)
        if found is not None:
            return found
        await asyncio.sleep(PAUSE)
    raise unavailable("The problem is still being folded. Try again.")


def inline_schema(*models: type[BaseModel]) -> dict[str, Any]:
    """The schema of a body that is one of these, for a route that reads it by itself."""
    keys, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    known = definitions.get("$defs", {})

    def resolved(node: Any) -> Any:
        if isinstance(node, list):
            return [resolved(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return resolved(known[node["$ref"].removeprefix("#/$defs/")])
        return {key: resolved(value) for key, value in node.items()}

    found = [resolved(keys[model, "validation"]) for model in models]
    return found[0] if len(found) == 1 else {"anyOf": found}


def json_body(*models: type[BaseModel]) -> dict[str, Any]:
    """A JSON body, as OpenAPI tells of it, for a route that reads it by itself."""
    examples = {
        model.__name__: {
            "summary": (model.__doc__ or "").split(":")[0],
            "value": example_of(model),
        }
        for model in models
    }
    content = {"schema": inline_schema(*models), "examples": examples}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}
