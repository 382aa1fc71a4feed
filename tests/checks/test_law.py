"""The suite for a delay law: what is built in passes, and each check fails on one made for it."""

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

BUILT_IN = [
    *map(parse, ("constant:0", "constant:30", "uniform:2.5", "poisson:50", "poisson:0")),
    *map(parse, ("geometric:0.3", "geometric:100", "geometric:1e6")),
    *map(parse, ("never:0.1:poisson:50", "never:1:constant:3", "never:0:uniform:3")),
    bl.delays.empirical([3, 3, 8, math.inf]),
    bl.delays.empirical(range(7), name="a week"),
    bl.delays.from_scipy(stats.nbinom(5, 0.1)),
    bl.delays.from_scipy(stats.randint(2, 9)),
]


@pytest.mark.parametrize("law", BUILT_IN, ids=lambda law: law.name)
def test_what_is_built_in_passes(law: Law) -> None:
    check_law(law)


def dice(p):
    """The quantile function of a die."""
    return np.maximum(np.ceil(6 * p), 1)


def halves(p):
    return dice(p) / 2


def early(p):
    return dice(p) - 3


def falling(p):
    return 7 - dice(p)


def by_rank(p):
    """What an episode gets depends on who is asked with it."""
    return np.argsort(np.argsort(p)) % 6 + 1


def lossy(p):
    return np.where(p < 0.9, dice(p), math.inf)


def die(name: Any = "die", mean: float = 3.5, inverse: Any = dice) -> Law:
    return Law(name, mean, inverse)


def test_a_law_of_your_own_passes() -> None:
    check_law(die())


class Shapeless(Law):
    def at(self, u):
        return super().at(u).ravel()


class Negative(Law):
    def at(self, u):
        return super().at(u) - 3


class Seedless(Law):
    def draw(self, *, seed, episodes, first=1, step=0):
        return super().draw(seed=0, episodes=episodes, first=first, step=step)


class Restless(Law):
    def draw(self, *, seed, episodes, first=1, step=0):
        return np.random.default_rng().integers(1, 7, episodes)


class Shifted(Law):
    """Its draws are one later than its quantiles say."""

    def at(self, u):
        return super().at(u) + 1


class Forgetful(Law):
    """Comes back as another law."""

    def __reduce__(self):
        return die, ("die", self.mean, partial(np.full_like, fill_value=3.0))


class Lenient(Law):
    def quantile(self, p):
        return super().quantile(min(max(p, 0.0), 1.0) if p == p else 0.5)


BROKEN = [
    ("named", die(name=" "), "The law's name is ' '; it must be a word"),
    ("whole", die(inverse=halves), "quantiles of law 'die' must be whole numbers .*, got 0.5"),
    ("whole", die(inverse=early), "must be whole numbers of at least 0, or inf, got -[12].0"),
    ("whole", Negative("die", 0.5, dice), "gives the delay -[12]; allowed are 0 .. NEVER"),
    ("whole", Shapeless("die", 3.5, dice), r"gives delays of shape \(12,\) and type int64 for"),
    (
        "quantile",
        die(inverse=falling),
        "has the quantile 6.0 at 0.1 and 5.0 at 0.25; they must rise",
    ),
    ("quantile", Shifted("die", 4.5, dice), "has the quantile 1.0 at 0.1, but of 20000 draws a"),
    ("mean", die(mean=4.0), "says that its mean is 4.0, but 20000 draws have the mean 3.49"),
    ("mean", die(inverse=lossy), "never returns; the mean is then inf"),
    ("mean", die(mean=math.inf), "says that its mean is inf, but its longest delay is 6.0"),
    ("addressed", die(inverse=by_rank), "gives an episode another delay when others are drawn"),
    ("addressed", Restless("die", 3.5, dice), "gives an episode another delay when others"),
    ("addressed", Seedless("die", 3.5, dice), "gives the same delays under two seeds"),
    ("pickled", die(inverse=lambda p: dice(p)), r"cannot be pickled \(.*\); its quantile function"),
    ("pickled", Forgetful("die", 3.5, dice), "is another law after pickling"),
    ("errors", Lenient("die", 3.5, dice), "takes p = -0.5; it must refuse that with a ValueError"),
]


def test_every_check_has_a_law_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(("name", "law", "sentence"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_law_that_breaks_a_promise_is_told_which(name: str, law: Law, sentence: str) -> None:
    [check] = [check for check in law_checks(law) if check.name == name]
    with pytest.raises(AssertionError, match=sentence) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". A part that does not claim this says without=['{name}'].")


@pytest.mark.parametrize("law", ["geometric:100", stats.poisson(3)])
def test_what_is_no_law_is_refused(law: Any) -> None:
    with pytest.raises(TypeError, match=r"^law is .*; it must be a law of belated.delays\.$"):
        check_law(law)
