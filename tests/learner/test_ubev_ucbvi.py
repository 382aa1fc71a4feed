"""UBEV, UCBVI-CH and UCBVI-BF against known answers."""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from learner_rows import make
from random_problems import random_counts

SHAPE, EPISODES = bl.Shape(4, 2, 5), 1000
V, M = [1, 2.5, 0, 4], [30, 15, 5, 0]
MEAN = 1.35


def value(base: bl.Base, v: Any = V, m: Any = M, *, visits: Any = None) -> float:
    """Q of one row without reward, by the base's backup."""
    kernel = base.backup_rule(SHAPE, EPISODES)
    stage, row = make(v, m, visits=visits)
    function = getattr(kernel.backup, "__wrapped__", kernel.backup)
    return float(function(kernel.constants, stage, row))


def known(expected: float) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.plain
def test_ucbvi_ch_has_the_known_bonus() -> None:
    tiny = 1e-3  # so that H' does not cut it
    assert (value(bl.UCBVI_CH(scale=tiny)) - MEAN) / tiny == known(75.2450954119)
    assert (value(bl.UCBVI_CH(scale=tiny, range="H-h")) - MEAN) / tiny == known(
        75.2450954119 * 4 / 5
    )
    assert value(bl.UCBVI_CH()) == 5.0


@pytest.mark.plain
def test_ucbvi_bf_has_the_three_known_terms() -> None:
    literal, two = bl.UCBVI_BF(scale=0.01), bl.UCBVI_BF(scale=0.01, preset="no_third")
    visits = [30, 15, 5, 0]
    whole = (value(literal, visits=visits) - MEAN) / 0.01
    without_third = (value(two, visits=visits) - MEAN) / 0.01
    second = value(two, [0, 0, 0, 0]) / 0.01  # no variance
    assert without_third - second == known(1.2597890433)
    assert second == known(7.0941756289)
    assert whole - without_third == known(2.0)


@pytest.mark.plain
def test_ubev_has_the_known_phi() -> None:
    assert (value(bl.UBEV()) - MEAN) / 4 == known(0.4960462227)
    # the span of V is 4 here too, so make it another
    stretched = value(bl.UBEV(range="span", scale=0.5), [1, 2.5, 0.5, 4])
    assert (stretched - (MEAN + 0.05)) / 3.5 == known(0.4960462227 / 2)


def test_the_third_term_falls_only_when_the_next_states_have_been_visited_very_often() -> None:
    """100^2 H^3 S^2 A L^2 is about 9e9 here: below 4e8 visits H^2 is the smaller one."""
    literal = bl.UCBVI_BF(scale=0.01)
    never, often, hugely = (value(literal, visits=[visits] * 4) for visits in (0, 10**8, 10**12))
    assert never == often
    numerator = 100**2 * 5**3 * 4**2 * 2 * math.log(5 * 4 * 2 * 5000 / 0.05) ** 2
    assert (never - hugely) / 0.01 == pytest.approx(2 - math.sqrt(8 * numerator / 1e12 / 50))


def test_without_variance_the_bernstein_bonus_stays_positive() -> None:
    for preset in ("literal", "no_third", "two_term", "emp_bernstein", "simplified_bernstein"):
        assert value(bl.UCBVI_BF(preset=preset, scale=0.01), [2, 2, 2, 2]) > 2  # type: ignore[arg-type]


def test_ubev_never_passes_the_best_next_value() -> None:
    assert value(bl.UBEV(), [1, 2.5, 0, 2.75]) == 2.75
    assert value(bl.UBEV(scale=0), [1, 2.5, 0, 2.75]) == pytest.approx(MEAN)


def test_the_log_terms_of_ucbvi_need_k_and_those_of_ubev_do_not() -> None:
    rng = np.random.default_rng(21)
    shape = bl.Shape(3, 2, 3)
    n, m = random_counts(rng, shape, most=50)
    rewards = rng.random(shape.table)
    for base, same in ((bl.UBEV(scale=0.1), True), (bl.UCBVI_CH(scale=0.01), False)):
        few, many = (bl.plan(base, n, m, rewards, episodes=K).q for K in (10, 10_000))
        assert np.array_equal(few, many) is same
