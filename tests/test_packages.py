"""Packages stay small, and docs/design.md draws all of them as the layers have them."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "belated"
MAX_MODULES = 15
MAX_MODULES_OF_LARGE = {"belated": 20, "belated.learner": 20}


def test_no_package_has_too_many_modules() -> None:
    folders = [SOURCE, *(path.parent for path in SOURCE.rglob("*/__init__.py"))]
    modules = {
        ".".join(folder.relative_to(SOURCE.parent).parts): len(
            [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        )
        for folder in folders
    }
    limits = {name: MAX_MODULES_OF_LARGE.get(name, MAX_MODULES) for name in modules}
    assert [name for name, count in modules.items() if count > limits[name]] == []
    assert modules["belated.learner.bases"] > 10
    stated = f"at most {MAX_MODULES} modules, only\n  `belated` and `belated.learner` up to 20 "
    assert stated in (ROOT / "CONTRIBUTING.md").read_text()


def test_the_drawing_of_the_packages_has_the_layers_of_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    layers = [set(re.findall(r"\w+", layer)) - {"__main__"} for layer in contract]
    upper, shared = [layer for layer in layers[:8] if layer], set().union(*layers[8:])
    drawing = (ROOT / "docs" / "design.md").read_text().split("## Packages")[1].split("```")[1]
    drawn = [set(re.findall(r"\w+", line[:59])) for line in drawing.splitlines()]
    drawn = [names for names in drawn if names]
    assert drawn[: len(upper)] == upper
    last = next(line for line in drawing.splitlines() if line.startswith(" episode "))
    assert set(last.split()) == shared
