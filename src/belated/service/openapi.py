"""OpenAPI document: what FastAPI cannot infer from the routes, and examples of all bodies."""

import json
from importlib.resources import files
from typing import Any, Final

from fastapi import FastAPI
from pydantic import TypeAdapter

from belated.service import responses, schemas

NDJSON: Final = "application/x-ndjson"

EXAMPLES: Final[dict[str, list[Any]]] = json.loads(
    files("belated.service").joinpath("examples.json").read_text(encoding="utf-8")
)
"""Map from the name of a type of the interface to its examples."""


def json_body(*kinds: type, required: bool = True) -> dict[str, Any]:
    """Return the OpenAPI entry of a JSON request body of one of the types `kinds`."""
    examples = {
        kind.__name__: {
            "summary": (kind.__doc__ or "").split(":")[0],
            "value": EXAMPLES[kind.__name__][0],
        }
        for kind in kinds
    }
    content = {"schema": _reference(*kinds), "examples": examples}
    return {"requestBody": {"required": required, "content": {"application/json": content}}}


def ndjson_response(kind: type, description: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entry of an NDJSON response with one `kind` on each line."""
    content = {"schema": _reference(kind), "example": EXAMPLES[kind.__name__][0]}
    return {200: {"description": description, "content": {NDJSON: content}}}


def _reference(*kinds: type) -> dict[str, Any]:
    found = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in kinds]
    return found[0] if len(found) == 1 else {"anyOf": found}


def complete_openapi(app: FastAPI) -> None:
    """Add the types of the interface, their examples and the tokens to the document of `app`."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        components = build().setdefault("components", {})
        components["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "belated_ID_SECRET"}
        }
        kinds = [vars(schemas).get(name) or vars(responses)[name] for name in EXAMPLES]
        _, described = TypeAdapter.json_schemas(
            [(kind, "validation", TypeAdapter(kind)) for kind in kinds],
            ref_template="#/components/schemas/{model}",
        )
        components["schemas"] |= described["$defs"]
        for name, examples in EXAMPLES.items():
            components["schemas"][name]["examples"] = examples
        return build()

    app.openapi = openapi  # type: ignore[method-assign]
