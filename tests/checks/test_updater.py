"""The suite for an updater: the four pass, and each check fails on one made to fail it."""

import math
from dataclasses import dataclass
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
}


def test_every_updater_is_in_the_table() -> None:
    assert {type(updater) for updater in BUILT_IN.values()} == set(UPDATERS.values())


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}-{check}")
        for name, updater in BUILT_IN.items()
        for check in updater_checks(updater)
    ],
)
def test_what_is_built_in_passes(check: Any) -> None:
    check()


class Mine(bl.Updater):
    """An updater in order, to be put out of order in one respect."""

    name = "mine"

    def due(self, arrival):
        return arrival.since_plan >= 5


def test_an_updater_in_order_passes() -> None:
    check_updater(Mine())


class Vague(Mine):
    def due(self, arrival):
        return arrival.since_plan - 5


class Moody(Mine):
    """Every other time."""

    asked = [0]  # noqa: RUF012

    def due(self, arrival):
        self.asked[0] += 1
        return arrival.arrived > 0 and self.asked[0] % 3 != 0


class Grabbing(Mine):
    def due(self, arrival):
        arrival.counts[arrival.rows] += 1
        return True


class Hasty(Mine):
    """Looks at the first row only."""

    def due(self, arrival):
        first = arrival.rows[0] if arrival.rows.size else 0
        return bool(arrival.counts[first] > 2 * arrival.epoch_counts[first])


class Idle(Mine):
    def due(self, arrival):
        return True


class Asleep(Mine):
    def due(self, arrival):
        return False


class Lost(Mine):
    def epoch_alpha(self, outset):
        return math.nan


class Jumpy(Mine):
    paces = iter(range(10**9))

    def epoch_alpha(self, outset):
        return next(self.paces)


class Memory(Explorer):
    """Explores what was seen an odd number of times."""

    def __init__(self, shape):
        self.seen = np.zeros(shape.table, bool)

    def see(self, step, state, action):
        self.seen[step, state, action] ^= True

    def marks(self):
        return self.seen.copy()


class Sharing(Mine):
    """One memory for every learner."""

    memories: Any = {}  # noqa: RUF012

    def explorer(self, shape):
        return self.memories.setdefault(shape, Memory(shape))


class Sometimes(Mine):
    calls = iter(range(10**9))

    def explorer(self, shape):
        return Memory(shape) if next(self.calls) % 2 else None


class Flat(Mine):
    def explorer(self, shape):
        explorer = Memory(shape)
        explorer.seen = np.zeros(shape.horizon, bool)
        explorer.see = lambda *step: None
        return explorer


class Remembering(Mine):
    """Its explorer's memory is in no snapshot."""

    def explorer(self, shape):
        return Memory(shape)


@dataclass(frozen=True)
class Credulous(Mine):
    every: int = 5


BROKEN = [
    ("answers", Vague(), r"due answers -?\d+; it must be True or False"),
    ("pure", Moody(), "answers otherwise when it is shown the same again"),
    ("pure", Grabbing(), "changes arrival.counts; it may only read it"),
    ("order", Hasty(), "answers otherwise when the same rows come in another order"),
    ("nothing", Idle(), "wants to plan when nothing has arrived"),
    ("plans", Asleep(), "does not plan after a million arrivals"),
    ("pace", Lost(), "pace gives nan; it must be a number, or inf"),
    ("pace", Jumpy(), "pace gives another number for the same outset"),
    ("explorer", Sharing(), "gives two learners one memory"),
    ("explorer", Sometimes(), "gives an explorer now and then only"),
    ("explorer", Flat(), r"have shape \(4,\) and type bool; they must be booleans \(H, S, A\)"),
    ("snapshot", Remembering(), "a part must not keep anything to itself"),
    ("engines", Moody(), "does not give the same .* they must agree to the bit"),
    ("errors", Credulous(), "takes every=nan; it must refuse that with a ValueError"),
]


def test_every_check_has_an_updater_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "updater", "sentence"),
    [
        pytest.param(*broken, id=f"{broken[0]}-{type(broken[1]).__name__.lower()}")
        for broken in BROKEN
    ],
)
def test_an_updater_that_breaks_a_promise_is_told_which(
    name: str, updater: Any, sentence: str
) -> None:
    [check] = [check for check in updater_checks(updater) if check.name == name]
    with pytest.raises(AssertionError, match=sentence) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". A part that does not claim this says without=['{name}'].")


@pytest.mark.parametrize("updater", ["active", bl.Active])
def test_what_is_no_updater_is_refused(updater: Any) -> None:
    with pytest.raises(TypeError, match=r"^updater is .*; it must be an Updater .*\.$"):
        check_updater(updater)
