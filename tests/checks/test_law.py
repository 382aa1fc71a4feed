"""Tests of the suite for a delay law: built-in laws pass, and each check has one that fails."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import belated as bl
from belated.checks import check_law, law_checks
from belated.checks.law import CHECKS
from belated.delays import Law, parse
from belated.delays.laws import LAWS

BUILT_IN = [
    *map(parse, ("constant:0", "constant:30", "uniform:2.5", "poisson:50", "poisson:0")),
    *map(parse, ("geometric:0.3", "geometric:100", "geometric:1e6")),
    *map(parse, ("by_time:7=geometric:5,3=outage", "by_time:9=constant:3,inf=poisson:4")),
    *map(parse, ("weekly:3:geometric:20", "never:0.2:weekly:5/5:constant:3")),
    *map(parse, ("mixture:0.25=constant:2,0.75=geometric:9", "weekly:1:by_time:9=constant:3")),
    *map(parse, ("by_action:0=constant:5,1=geometric:9", "by_action:2:3=poisson:4")),
    *map(parse, ("by_state:4:2=weekly:2:constant:1,else=never:0.5:uniform:3",)),
    *map(parse, ("by_return:0=geometric:9,0.5=constant:1,0.51=never:1:constant:0",)),
    *map(parse, ("never:0.1:poisson:50", "never:1:constant:3", "never:0:uniform:3")),
    bl.delays.empirical([3, 3, 8, math.inf]),
    bl.delays.empirical(range(7), name="a week"),
    bl.delays.from_scipy(stats.nbinom(5, 0.1)),
    bl.delays.from_scipy(stats.randint(2, 9)),
]
TRIED = {law.name.partition(":")[0] for law in BUILT_IN}
BUILT_IN += [parse(f"{name}:30") for name in LAWS if name not in TRIED]


@pytest.mark.parametrize("law", BUILT_IN, ids=lambda law: law.name)
def test_built_in_laws_pass(law: Law) -> None:
    check_law(law)


def dice(p):
    """Return the quantiles of a die."""
    return np.maximum(np.ceil(6 * p), 1)


def halves(p):
    return dice(p) / 2


def falling(p):
    return 7 - dice(p)


def by_rank(p):
    """Return delays that depend on the other episodes of the call."""
    return np.argsort(np.argsort(p)) % 6 + 1


def die(name: Any = "die", mean: float = 3.5, inverse: Any = dice) -> Law:
    return Law(name, mean, inverse)


def test_a_valid_law_passes() -> None:
    check_law(die())


class Shapeless(Law):
    def at(self, u):
        return super().at(u).ravel()


class Seedless(Law):
    def draw(self, *, seed, episodes, first=1, step=0):
        return super().draw(seed=0, episodes=episodes, first=first, step=step)


class Shifted(Law):
    """Law whose delays are one longer than its quantiles."""

    def at(self, u):
        return super().at(u) + 1


class Forgetful(Law):
    """Law that changes when it is pickled."""

    def __reduce__(self):
        return die, ("die", self.mean, partial(np.full_like, fill_value=3.0))


BROKEN = [
    (
        "draws_whole_numbers",
        die(inverse=halves),
        "quantiles of law .die. must be whole numbers .*, got 0.5",
    ),
    (
        "draws_whole_numbers",
        Shapeless("die", 3.5, dice),
        r"gives delays of shape \(12,\) and type int64 for",
    ),
    (
        "matches_quantiles",
        die(inverse=falling),
        "has the quantile 6.0 at 0.1 and 5.0 at 0.25; quantiles must not",
    ),
    (
        "matches_quantiles",
        Shifted("die", 4.5, dice),
        "at 0.1 is 1.0, but of 20000 drawn delays a share",
    ),
    ("matches_mean", die(mean=4.0), "has mean 4.0, but 20000 delays have mean 3.49"),
    ("matches_mean", die(mean=math.inf), "has an infinite mean, but its longest delay is 6.0"),
    (
        "is_reproducible",
        die(inverse=by_rank),
        "gives an episode a different delay when it is drawn again",
    ),
    ("is_reproducible", Seedless("die", 3.5, dice), "gives the same delays for two seeds"),
    (
        "survives_pickling",
        die(inverse=lambda p: dice(p)),
        r"cannot be pickled \(.*\); its quantile function",
    ),
    ("survives_pickling", Forgetful("die", 3.5, dice), "is a different law after pickling"),
]


def test_every_check_has_a_law_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(("name", "law", "message"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_law_that_fails_a_check_gets_a_message_that_says_why(
    name: str, law: Law, message: str
) -> None:
    [check] = [check for check in law_checks(law) if check.name == name]
    with pytest.raises(AssertionError, match=message) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". To skip this check, pass without=['{name}'].")


@pytest.mark.parametrize("law", ["geometric:100", stats.poisson(3)])
def test_an_object_that_is_not_a_law_is_rejected(law: Any) -> None:
    with pytest.raises(TypeError, match=r"^law must be a law of belated.delays, got .*\.$"):
        check_law(law)
