"""Conformance suites for user-defined bases, updaters, delay laws and worlds.

Each suite has two functions. One, such as `check_base`, runs all checks and raises AssertionError
at the first failure. The other, such as `base_checks`, returns the list of checks, so that each can
be a test in a pytest file:

    from belated.checks import base_checks

    @pytest.mark.parametrize("check", base_checks(MyBase()), ids=str)
    def test_my_base(check):
        check()

>>> from belated.delays import geometric
>>> check_law(geometric(100))
>>> [check.name for check in law_checks(geometric(100))][:3]
['draws_whole_numbers', 'matches_quantiles', 'matches_mean']
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
