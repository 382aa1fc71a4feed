"""Public names: listed once, importable, and enough to name all that public functions return."""

import re
import typing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated import client

STUB = Path(bl.__file__).with_name("__init__.pyi")
LISTED = re.findall(r"^from \.[\w.]* import (\w+) as (\w+)$", STUB.read_text(), re.MULTILINE)
RETURNED = ("Calibration", "Law", "MDP", "Plan", "Policy", "Results", "Run", "Status")
CALLABLE = [name for name in bl.__all__ if callable(getattr(bl, name))]


def returned_classes(function: Any) -> set[type]:
    """Return the classes of this package in the return annotation of `function`."""
    try:
        hints = typing.get_type_hints(function)
    except NameError:  # a name that is imported for type checkers only
        return set()
    found, waiting = set(), [hints.get("return")]
    while waiting:
        hint = waiting.pop()
        waiting.extend(typing.get_args(hint))
        if isinstance(hint, type) and hint.__module__.startswith("belated."):
            found.add(hint)
    return found


def public_methods(item: Any) -> list[Any]:
    """Return `item` if it is a function, and the public methods and properties of a class."""
    if not isinstance(item, type):
        return [item]
    members = [getattr(item, name) for name in vars(item) if not name.startswith("_")]
    functions = [member.fget if isinstance(member, property) else member for member in members]
    return [function for function in functions if callable(function)]


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


@pytest.mark.parametrize("name", RETURNED)
def test_the_results_of_public_functions_have_public_names(name: str) -> None:
    assert isinstance(getattr(bl, name), type)


@pytest.mark.parametrize("name", CALLABLE)
def test_a_public_function_returns_public_classes(name: str) -> None:
    public = {getattr(bl, other) for other in CALLABLE}
    for package in (bl.checks, bl.delays, bl.gym, bl.theory, client):
        public |= {getattr(package, other) for other in package.__all__}
    for function in public_methods(getattr(bl, name)):
        assert returned_classes(function) <= public, function
