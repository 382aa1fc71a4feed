"""Tests of the selection of checks and of their names and descriptions."""

from typing import Any

import pytest

import belated as bl
from belated import checks
from belated.mdp.classics import chain

SUITES = [
    (checks.base_checks, checks.check_base, bl.UCRL2()),
    (checks.updater_checks, checks.check_updater, bl.Lazy(2)),
    (checks.law_checks, checks.check_law, bl.delays.geometric(3)),
    (checks.world_checks, checks.check_world, chain(3)),
]
every_suite = pytest.mark.parametrize(
    ("suite", "at_once", "part"), SUITES, ids=["base", "updater", "law", "world"]
)


@every_suite
def test_every_check_has_a_unique_name_and_a_description(
    suite: Any, at_once: Any, part: Any
) -> None:
    found = suite(part)
    names = [str(check) for check in found]
    assert len(set(names)) == len(names) >= 3
    for check in found:
        assert check.about.endswith(".")
        assert check.about in repr(check)


@every_suite
def test_a_check_is_skipped_by_its_name(suite: Any, at_once: Any, part: Any) -> None:
    names = [check.name for check in suite(part)]
    assert [check.name for check in suite(part, without=names[1:])] == names[:1]
    at_once(part, without=names)


@every_suite
def test_an_unknown_name_of_a_check_is_rejected(suite: Any, at_once: Any, part: Any) -> None:
    for call in (suite, at_once):
        with pytest.raises(ValueError, match=r"^without must contain only .*, got 'speed'\.$"):
            call(part, without=["speed"])
        with pytest.raises(
            TypeError, match=r"^without must be a list of names of checks, got 'pure'\.$"
        ):
            call(part, without="pure")
