"""The OpenAPI schema is complete, and the service conforms to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from belated.ledger import Ledger
from belated.service.auth import AuthorizedRoute
from belated.service.routes import routes
from combinations import FULL
from service.site import Site


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DESCRIBED = [route for route in routes() if route.include_in_schema]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("openapi")
    with Ledger.open(f"sqlite:///{folder / 'ledger.db'}") as ledger, Site(ledger) as running:
        running.define()
        running.host.step()
        yield running


def operations(site: Site) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in site.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def has_example(content: dict[str, Any], schemas: dict[str, Any]) -> bool:
    schema = content["schema"]
    named = [one.get("$ref", "") for one in (schema, *schema.get("anyOf", []))]
    models = [schemas[ref.rpartition("/")[2]] for ref in named if ref]
    return bool({"example", "examples"} & set(content)) or any("examples" in m for m in models)


def test_every_route_is_described_with_examples_and_errors(site: Site) -> None:
    schemas = site.get("/openapi.json").json()["components"]["schemas"]
    seen = set()
    for name, operation in operations(site):
        seen.add(name)
        assert operation["description"], name
        for one in operation.get("parameters", []):
            if one["in"] == "path":
                assert one["schema"].get("examples") or one.get("examples"), name
        bodies = [operation.get("requestBody", {}).get("content", {})]
        bodies += [answer.get("content", {}) for answer in operation["responses"].values()]
        for body in bodies:
            for kind, content in body.items():
                if "parquet" not in kind:
                    assert has_example(content, schemas), (name, kind)
        guarded = {"401", "403", "422", "500", "503"} <= set(operation["responses"])
        assert guarded is ("security" in operation), name
    assert seen == {f"{m} {route.path_format}" for route in DESCRIBED for m in route.methods}


def test_the_scope_of_every_route_is_described(site: Site) -> None:
    said = {name: op["security"] for name, op in operations(site) if "security" in op}
    for route in routes():
        if isinstance(route, AuthorizedRoute):
            [method] = route.methods
            assert said[f"{method} {route.path_format}"] == [{"token": [route.scope]}]


EXAMPLES = {
    GenerationMode.POSITIVE: 15 if FULL else 6,
    GenerationMode.NEGATIVE: 10 if FULL else 4,
}
"""Number of valid and of invalid requests that are made up for each route."""


@pytest.mark.parametrize(
    ("method", "path"), [(m, route.path_format) for route in DESCRIBED for m in route.methods]
)
def test_every_route_conforms_to_its_description(site: Site, method: str, path: str) -> None:
    operation = schemathesis.openapi.from_dict(site.app.openapi())[path][method]
    site.post("/v1/problems/clinic/unarchive")  # another route may have archived it
    id = site.open()
    known = {"problem": "clinic", "episode": id, "subject": "me", "version": 1}

    def attempt(case: Any, real: bool) -> None:
        if real:  # existing names reach more code
            case.path_parameters = {key: known[key] for key in case.path_parameters}
        sent = requests.Request(**case.as_transport_kwargs(base_url="http://127.0.0.1")).prepare()
        assert sent.url is not None
        assert sent.method is not None
        answer = site.ask(
            sent.method,
            sent.url,
            content=sent.body or b"",
            headers={
                name: value.encode("latin-1") if isinstance(value, str) else value
                for name, value in sent.headers.items()
            },
        )
        case.validate_response(answer, checks=CHECKS)

    for mode, count in EXAMPLES.items():
        if mode is GenerationMode.NEGATIVE and not takes_anything(operation):
            continue
        cases = operation.as_strategy(generation_mode=mode)
        tried = given(case=cases, real=st.booleans())(attempt)
        settings(
            max_examples=count,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )(tried)()


@pytest.mark.parametrize("name", ["path", "rewards"])
def test_fields_that_may_not_be_null_are_described_so(site: Site, name: str) -> None:
    site.define(f"late-{name}", late="rewards")
    address = f"/v1/episodes/{site.open(f'late-{name}')}/feedback"
    assert site.post(address, {name: None}).status_code == 422
    said = dict(operations(site))["POST /v1/episodes/{episode}/feedback"]
    kinds = said["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    assert {"$ref": "#/components/schemas/LateRewards"} in kinds
    late = site.get("/openapi.json").json()["components"]["schemas"]["LateRewards"]
    assert "null" not in str(late["properties"][name])
    assert "default" not in late["properties"][name]
    assert "required" not in late


def takes_anything(operation: Any) -> bool:
    """Return whether the operation has parameters or a body."""
    return bool(list(operation.iter_parameters()) or list(operation.body))
