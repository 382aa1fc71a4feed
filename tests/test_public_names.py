"""Public names: listed once, importable, and enough to name all that public functions return."""

import re
import typing
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import belated as bl
from belated import client
from belated.delays.laws import LAWS
from belated.learner.bases import BUILT_IN
from belated.learner.updaters import UPDATERS

STUB = Path(bl.__file__).with_name("__init__.pyi")
LISTED = re.findall(r"^from \.[\w.]* import (\w+) as (\w+)$", STUB.read_text(), re.MULTILINE)
PACKAGES = (bl.checks, bl.delays, bl.gym, bl.theory, client)
PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in (bl, *PACKAGES)
    for name in package.__all__
    if callable(getattr(package, name))
}


def test_no_public_name_is_also_the_name_of_a_module_of_the_package() -> None:
    # An import of such a module would replace the public object by the module.
    modules = {path.stem for path in STUB.parent.iterdir() if path.suffix in ("", ".py")}
    public = {name for _, name in LISTED if not isinstance(getattr(bl, name), ModuleType)}
    assert modules & public == set()


def classes_in(hint: Any) -> set[type]:
    """Return the classes of this package in a type annotation."""
    found, waiting = set(), [hint]
    while waiting:
        hint = waiting.pop()
        waiting.extend(hint if isinstance(hint, list) else typing.get_args(hint))
        if isinstance(hint, type) and hint.__module__.startswith("belated."):
            found.add(hint)
    return found


def result_of(function: Any) -> Any:
    """Return the return annotation of `function`, evaluated."""
    annotation = getattr(function, "__annotations__", {}).get("return")
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, getattr(function, "__globals__", {}))
        except NameError:  # a name that is imported for type checkers only
            annotation = None
    return annotation


def results_of(item: Any) -> dict[str, Any]:
    """Return the annotation of the result of a function, or of each member of a class."""
    if not isinstance(item, type):
        return {item.__name__: result_of(item)}
    try:
        found = typing.get_type_hints(item)
    except NameError:  # a base class of another package
        found = {}
    for name in dir(item):
        member = getattr(item, name)
        member = member.fget if isinstance(member, property) else member
        if callable(member) and not isinstance(member, type):
            found[name] = result_of(member)
    return {name: hint for name, hint in found.items() if not name.startswith("_")}


@pytest.mark.parametrize("name", bl.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(bl, name) is not None
    assert name in dir(bl)


def test_the_stub_lists_each_name_once_and_renames_none() -> None:
    assert all(name == alias for name, alias in LISTED)
    counts = Counter(alias for _, alias in LISTED)
    assert [name for name, count in counts.items() if count > 1] == []
    assert sorted(counts) == sorted(bl.__all__)
    lines = [line for line in STUB.read_text().splitlines() if line]
    assert len(lines) == len(LISTED) + 1  # and the version


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nowhere"):
        _ = bl.nowhere


@pytest.mark.parametrize("name", PUBLIC)
def test_results_and_fields_have_public_classes(name: str) -> None:
    public = {item for item in PUBLIC.values() if isinstance(item, type)}
    for member, hint in results_of(PUBLIC[name]).items():
        hidden = classes_in(hint) - public
        assert not hidden, f"{name}, {member}: add {hidden} to src/belated/__init__.pyi"


@pytest.mark.parametrize("part", [*BUILT_IN, *UPDATERS.values()], ids=lambda part: part.__name__)
def test_built_in_bases_and_updaters_are_public(part: type) -> None:
    line = (
        f"from {part.__module__.removeprefix('belated')} import {part.__name__} as {part.__name__}"
    )
    assert getattr(bl, part.__name__, None) is part, f"add to src/belated/__init__.pyi: {line}"


@pytest.mark.parametrize("name", LAWS)
def test_built_in_laws_are_public(name: str) -> None:
    found = getattr(bl.delays, name, None)
    assert found is LAWS[name], f"add {name} to src/belated/delays/__init__.py"


@pytest.mark.parametrize(
    "names", [[base.name for base in BUILT_IN], list(UPDATERS)], ids=["bases", "updaters"]
)
def test_no_two_parts_have_one_name(names: list[str]) -> None:
    assert len(set(names)) == len(names)
