"""Results are the same, to the bit, as when `record.py` recorded them.

The digests hold for one kind of machine and one set of library versions: another processor or
libm may round a logarithm differently.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from combinations import chosen
from regression import settings
from regression.bases import VARIANTS
from regression.digesting import differences
from regression.internals import BASES

EVERY = [
    pytest.param(section, name, function, id=f"{section}: {name}")
    for section, functions in settings.SECTIONS.items()
    for i, (name, function) in enumerate(functions.items())
    if section != "ledgers" or chosen(i, one_in=2)
]
"""All but half of the ledgers, which take longest; BELATED_FULL=1 tests all of them."""


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """Return what was recorded."""
    return settings.read()


@pytest.mark.parametrize(
    ("name", "function"),
    [pytest.param(name, function, id=name) for name, function in settings.RUNS.items()],
)
def test_a_run_is_as_recorded_whichever_way_it_is_computed(
    name: str, function: Callable[[], dict[str, Any]]
) -> None:
    faults = [
        f"{way}: {line}"
        for way, found in function().items()
        for line in differences(recorded()["runs"][name], settings.as_read(found))
    ]
    assert not faults, "\n".join([f"run {name!r}", *faults])


@pytest.mark.parametrize(("section", "name", "function"), EVERY)
def test_everything_else_is_as_recorded(
    section: str, name: str, function: Callable[[], Any]
) -> None:
    faults = differences(recorded()[section][name], settings.as_read(function()))
    assert not faults, "\n".join([f"{section} {name!r}", *faults])


def test_nothing_that_was_recorded_is_left_out() -> None:
    now = {"runs": settings.RUNS, **settings.SECTIONS}
    assert {section: list(names) for section, names in recorded().items()} == {
        section: list(names) for section, names in now.items()
    }


def test_every_recorded_base_is_still_built_in() -> None:
    assert {base for base, _ in VARIANTS.values()} <= set(BASES)
