"""Sphinx extension: pages that are generated from the command line and the HTTP service.

They are written to docs/generated, which is not part of the repository, before pages are read.
"""

import json
import logging
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

Schema = dict[str, Any]


def command_line() -> str:
    """Return the page of all commands, as Typer writes it, with whole summaries and examples."""
    words = ["-m", "typer", "belated.cli.main", "utils", "docs", "--name", "belated"]
    done = subprocess.run(
        [sys.executable, *words, "--title", "Command line"],
        check=True,
        capture_output=True,
        text=True,
    )
    page = re.sub(
        r"^Example: (belated .*(?:\n.+)*)", r"```\n\1\n```", done.stdout, flags=re.MULTILINE
    )
    summaries = dict(re.findall(r"^#+ `belated (.+)`\n\n(.+)$", page, re.MULTILINE))
    commands = {name.rpartition(" ")[2]: text for name, text in summaries.items()}

    def whole(found: re.Match[str]) -> str:
        return f"* `{found[1]}`: {commands[found[1]]}"

    return re.sub(r"^\* `([a-z]+)`: .*\.\.\.$", whole, page, flags=re.MULTILINE)


def http() -> str:
    """Return the page of all requests and their bodies, from the OpenAPI schema of the service."""
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it reports migrations
    from belated.ledger.ledger import Ledger
    from belated.service import create_app

    with Ledger.open("sqlite://") as ledger:
        schema = create_app(ledger, plan=False).openapi()
    return "\n".join(http_lines(schema))


def name_bodies(schema: Any, named: Schema) -> Any:
    """Return `schema` with its inline objects replaced by references to `named`, where they go."""
    if isinstance(schema, list):
        return [name_bodies(one, named) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: value if key == "examples" else name_bodies(value, named)
        for key, value in schema.items()
    }
    if isinstance(inner.get("properties"), dict) and isinstance(inner.get("title"), str):
        named[inner["title"]] = inner
        return {"$ref": f"#/components/schemas/{inner['title']}"}
    return inner


def http_lines(schema: Schema) -> Iterator[str]:
    """Yield the lines of the page of the OpenAPI `schema`."""
    bodies = dict(schema["components"]["schemas"])
    operations = [
        (path, method, name_bodies(operation, bodies))
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    common = common_answers([operation for _, _, operation in operations])
    yield "# HTTP\n"
    yield schema["info"]["description"] + "\n"
    yield "A running service returns this description as OpenAPI from `/openapi.json`.\n"
    yield "Answers that nearly every request can have, and that are not repeated below:\n"
    yield "| Status | Meaning |\n| --- | --- |"
    yield from (row(status, text) for status, text in sorted(common))
    yield "\n## Requests\n"
    for path, method, operation in operations:
        yield from operation_lines(path, method, operation, common)
    yield "## Bodies\n"
    for name, body in sorted(bodies.items()):
        yield from body_lines(name, body)


def common_answers(operations: list[Schema]) -> set[tuple[str, str]]:
    """Return status and description of the errors that more than half of `operations` share."""
    counts = Counter(
        (status, answer["description"])
        for operation in operations
        for status, answer in operation["responses"].items()
        if status >= "400"
    )
    return {answer for answer, count in counts.items() if count > len(operations) / 2}


def operation_lines(
    path: str, method: str, operation: Schema, common: set[tuple[str, str]]
) -> Iterator[str]:
    """Yield the lines of one `operation`: `method`, such as "get", of `path`.

    The answers in `common` are left out.
    """
    yield f"### {method.upper()} {path}\n"
    yield f"{operation.get('description') or operation.get('summary', '')}\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "| Parameter | In | Type | Meaning |\n| --- | --- | --- | --- |"
        for one in parameters:
            name = f"`{one['name']}`" + (", required" if one.get("required") else "")
            yield row(name, one["in"], type_of(one["schema"]), one.get("description", ""))
        yield ""
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body, `{kind}`: {type_of(content.get('schema', {}))}\n"
    yield "| Status | Answer | Meaning |\n| --- | --- | --- |"
    for status, answer in sorted(operation["responses"].items()):
        kinds = [type_of(c.get("schema", {})) for c in answer.get("content", {}).values()]
        text = answer.get("description", "")
        if (status, text) not in common:
            yield row(status, " or ".join(kinds), text.replace("Successful Response", "Success."))
    yield ""


def body_lines(name: str, body: Schema) -> Iterator[str]:
    """Yield the lines of the schema `body`, which is called `name`."""
    yield f"({anchor(name)})=\n### {name}\n"
    if body.get("description"):
        yield f"{body['description']}\n"
    if "enum" in body:
        yield "One of " + ", ".join(f"`{value}`" for value in body["enum"]) + ".\n"
    if fields := body.get("properties", {}):
        yield "| Field | Type | Default | Meaning |\n| --- | --- | --- | --- |"
        for field, about in fields.items():
            default = "required" if field in body.get("required", ()) else code(about)
            yield row(f"`{field}`", type_of(about), default, about.get("description", ""))
        yield ""
    for example in body.get("examples", ()):
        yield f"```json\n{json.dumps(example)}\n```\n"


def code(about: Schema) -> str:
    """Return the default value of a field as code; an empty text if it has none."""
    return f"`{about['default']!r}`" if "default" in about else ""


def row(*cells: str) -> str:
    """Return a row of a table with these `cells`."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"


def anchor(name: str) -> str:
    """Return the target of links to the schema `name`."""
    return f"http-{name}"


def type_of(about: Schema) -> str:
    """Return the type that a schema describes, as text with links to named schemas."""
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    for word, joint in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
        if word in about:
            return joint.join(type_of(one) for one in about[word])
    if "const" in about:
        return f"`{about['const']!r}`"
    if "enum" in about:
        return " or ".join(f"`{value!r}`" for value in about["enum"])
    match about.get("type", "any"):
        case "array" if "prefixItems" in about:
            return f"array of {', '.join(type_of(one) for one in about['prefixItems'])}"
        case "array":
            return f"array of {type_of(about.get('items', {}))}"
        case "object" if isinstance(about.get("additionalProperties"), dict):
            return f"object of {type_of(about['additionalProperties'])}"
        case kind:
            return str(kind) + limits(about)


def limits(about: Schema) -> str:
    """Return the range or the length that a schema allows, as text in brackets."""
    words = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "exclusiveMaximum": "<",
        "minLength": "length ≥",
        "maxLength": "length ≤",
    }
    found = [f"{text} {about[word]:g}" for word, text in words.items() if word in about]
    return f" ({', '.join(found)})" if found else ""


PAGES = {"command-line": command_line, "http": http}


def write_pages(app: "Sphinx") -> None:
    """Write the generated pages of `app`; pages that did not change keep their time."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the generation of pages with `app`; return the properties of the extension."""
    app.connect("builder-inited", write_pages, priority=100)  # before autosummary looks at pages
    return {"parallel_read_safe": True}
