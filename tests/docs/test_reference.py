"""Every public name, command and route has its place in the reference."""

import importlib.util
import re
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from belated.learner.bases import BASES, Base

DOCS = Path(__file__).parents[2] / "docs"
API = (DOCS / "api.md").read_text(encoding="utf-8")


def extension(name: str) -> ModuleType:
    """Return an extension of the site as a module."""
    path = DOCS / "extensions" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed() -> list[str]:
    """Return the qualified names in the tables of docs/api.md."""
    found = []
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", API, re.DOTALL):
        [module] = re.findall(r"currentmodule:: (\S+)", block)
        found += [f"{module}.{name}" for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)]
    return found


def public() -> set[str]:
    """Return the public names; an object that has two is listed under the first one."""
    packages = ("delays", "theory", "checks", "callbacks", "gym", "client", "service")
    found: dict[int, str] = {}
    for package in ("belated", *(f"belated.{name}" for name in packages)):
        module = import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if not isinstance(item, ModuleType):
                found.setdefault(id(item), f"{package}.{name}")
    return set(found.values())


def test_every_public_name_has_a_page_and_only_one() -> None:
    assert sorted(public() - set(listed())) == [], "add to docs/api.md"
    assert sorted(set(listed()) - public()) == [], "remove from docs/api.md"
    assert [name for name, count in Counter(listed()).items() if count > 1] == []


def test_the_links_of_docstrings_use_the_names_of_the_pages() -> None:
    pytest.importorskip("sphinx")
    names = extension("public_names")
    assert set(names.public_names()) == public()
    assert names.public_name("belated.learner.learner.Learner") == "belated.Learner"
    lines = ["Return a `Run` of `x`, see `simulate`."]
    names.link_code(None, "function", "belated.x", None, None, lines)
    assert lines == [
        "Return a :py:obj:`Run <belated.Run>` of ``x``, see :py:obj:`simulate <belated.simulate>`."
    ]


def test_the_page_of_the_service_has_every_route_and_every_body() -> None:
    page = extension("generated_pages").http()
    assert "### POST /v1/episodes/{episode}/feedback" in page
    assert len(re.findall(r"^### (?:GET|POST|DELETE) ", page, re.MULTILINE)) >= 30
    targets = set(re.findall(r"\]\(#(http-\w+)\)", page))
    assert targets <= set(re.findall(r"^\((http-\w+)\)=$", page, re.MULTILINE))
    assert "WholeEpisode" in page


def test_the_page_of_the_command_line_has_every_command() -> None:
    page = extension("generated_pages").command_line()
    for command in ("reproduce", "run", "sweep", "serve", "token create", "ledger verify"):
        assert f"`belated {command}`" in page


@pytest.mark.parametrize("name", [name for name in BASES if name != "fixed"])
def test_every_base_is_in_the_table_of_names(name: str) -> None:
    common = {field.name for field in fields(Base)}
    own = [field.name for field in fields(BASES[name]) if field.name not in common]
    options = ", ".join(f"`{option}`" for option in own)
    line = f"| `{name}` | `bl.{BASES[name].__name__}` | {options} |".replace("|  |", "| |")
    text = (DOCS / "algorithms.md").read_text()
    assert line in text.splitlines(), f"add to docs/algorithms.md: {line}"
