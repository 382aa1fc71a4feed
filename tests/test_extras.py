"""Errors and pages name extras that can be installed."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from belated.mdp.worlds import WORLD_FAMILIES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")]
SOURCES = sorted((ROOT / "src" / "belated").rglob("*.py"))


def extras_in_calls(source: Path) -> Iterator[str]:
    """Yield the extra of each call of `missing_extra` or `require_packages` in `source`."""
    position = {"missing_extra": 2, "require_packages": 1}
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in position:
            yield ast.unparse(node.args[position[ast.unparse(node.func)]]).strip("'")


def test_every_extra_that_an_error_names_exists() -> None:
    named = {extra for source in SOURCES for extra in extras_in_calls(source)} - {"extra"}
    named |= {family.requires[1] for family in WORLD_FAMILIES if family.requires is not None}
    assert named == set(PROJECT["optional-dependencies"]) - {"all", "dev", "docs"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_extra_that_a_page_installs_exists(page: Path) -> None:
    """A page must not install '.[extra]', which works in a copy of the repository only."""
    installed = re.findall(r"pip install '(.*?)\[(\w+)\]'", page.read_text())
    assert {package for package, _ in installed} <= {PROJECT["name"]}
    assert {extra for _, extra in installed} <= set(PROJECT["optional-dependencies"])
