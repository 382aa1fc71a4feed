"""Tests of the suite for an updater: built-in updaters pass, and each check has one that fails."""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks import check_updater, updater_checks
from belated.checks.updater import CHECKS
from belated.learner.updaters import UPDATERS, Explorer

BUILT_IN = {
    "active": bl.Active(),
    "lazy": bl.Lazy(10),
    "lazy inf": bl.Lazy(math.inf),
    "lazy auto": bl.Lazy("auto"),
    "explicit": bl.ExplicitExploration(threshold=7),
    "explicit by step": bl.ExplicitExploration(tau_max=4, unit="sh", pooled=False),
    "multi": bl.MultiInstance(),
    "batched": bl.Batched(),
    "batched minimax": bl.Batched("minimax"),
    "scheduled": bl.Scheduled(3),
    "scheduled by arrivals": bl.Scheduled(3, "arrivals"),
    "matured": bl.Matured(bl.Lazy(2), age=4),
    "matured by share": bl.Matured(bl.Batched([2, 4]), share=0.5),
}
TRIED = {type(updater) for updater in BUILT_IN.values()}
BUILT_IN |= {name: kind() for name, kind in UPDATERS.items() if kind not in TRIED}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check}")
        for name, updater in BUILT_IN.items()
        for check in updater_checks(updater)
    ],
)
def test_built_in_updaters_pass(check: Any) -> None:
    check()


class Mine(bl.Updater):
    """Updater that passes every check; subclasses fail one."""

    name = "mine"

    def due(self, arrival):
        return arrival.since_plan >= 5


def test_a_valid_updater_passes() -> None:
    check_updater(Mine())


class ReturnsNumber(Mine):
    def due(self, arrival):
        return arrival.since_plan - 5


class Alternating(Mine):
    """Updater whose answer differs from call to call."""

    calls = [0]  # noqa: RUF012

    def due(self, arrival):
        self.calls[0] += 1
        return arrival.arrived > 0 and self.calls[0] % 3 != 0


class AlwaysPlans(Mine):
    def due(self, arrival):
        return True


class NeverPlans(Mine):
    def due(self, arrival):
        return False


class NanAlpha(Mine):
    def epoch_alpha(self, start):
        return math.nan


class Memory(Explorer):
    """Explorer of triples that were visited an odd number of times."""

    def __init__(self, shape):
        self.seen = np.zeros(shape.table, bool)

    def see(self, step, state, action):
        self.seen[step, state, action] ^= True

    def marks(self):
        return self.seen.copy()


class StatefulExplorer(Mine):
    """Updater whose explorer has state outside the snapshot."""

    def explorer(self, shape):
        return Memory(shape)


BROKEN = [
    ("returns_bool", ReturnsNumber(), r"due returns -?\d+; it must return True or False"),
    (
        "is_pure",
        Alternating(),
        "returns a different value for the same arrival when it is called again",
    ),
    ("ignores_empty_arrival", AlwaysPlans(), "plans although nothing has arrived"),
    ("plans_eventually", NeverPlans(), "does not plan after a million arrivals"),
    ("has_valid_alpha", NanAlpha(), "returns nan; it must return a number, or inf"),
    ("survives_snapshot", StatefulExplorer(), "a part must not keep state of its own"),
    ("engines_agree", Alternating(), "gives a different .* equal to the bit"),
]


def test_every_check_has_an_updater_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "updater", "message"),
    [
        pytest.param(*broken, id=f"{broken[0]}-{type(broken[1]).__name__.lower()}")
        for broken in BROKEN
    ],
)
def test_an_updater_that_fails_a_check_gets_a_message_that_says_why(
    name: str, updater: Any, message: str
) -> None:
    [check] = [check for check in updater_checks(updater) if check.name == name]
    with pytest.raises(AssertionError, match=message) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". To skip this check, pass without=['{name}'].")


@pytest.mark.parametrize("updater", ["active", bl.Active])
def test_an_object_that_is_not_an_updater_is_rejected(updater: Any) -> None:
    with pytest.raises(TypeError, match=r"^updater must be an Updater .*, got .*\.$"):
        check_updater(updater)
