"""Conformance suites for parts of your own: a base, an updater, a delay law, a world.

Each suite comes twice: as one call that raises AssertionError with the first thing that is wrong,
and as a list of checks, so that each is a test of its own in your pytest file:

    from belated.checks import base_checks

    @pytest.mark.parametrize("check", base_checks(MyBase()), ids=str)
    def test_my_base(check):
        check()

>>> from belated.delays import geometric
>>> check_law(geometric(100))
>>> print(*law_checks(geometric(100)))
named whole quantile mean addressed pickled errors
"""

from belated.checks.base import base_checks, check_base
from belated.checks.law import check_law, law_checks
from belated.checks.suite import Check
from belated.checks.updater import check_updater, updater_checks
from belated.checks.world import check_world, world_checks

__all__ = [
    "Check",
    "base_checks",
    "check_base",
    "check_law",
    "check_updater",
    "check_world",
    "law_checks",
    "updater_checks",
    "world_checks",
]
