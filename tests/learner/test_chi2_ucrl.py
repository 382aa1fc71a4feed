"""chi2-UCRL against known answers and weak duality."""

import math

import numpy as np
import pytest

from belated.episode import Floats, Ints, Shape
from belated.learner.backup import Row, Stage, mean
from belated.learner.bases import chi2_ucrl
from belated.learner.bases.chi2_ucrl import Chi2_UCRL, chi2_bonus, chi2_radius
from hard_rows import hard_rows
from learner_rows import make

SHAPE = Shape(4, 2, 5)
GOLDEN = make([1, 2.5, 0, 4], [30, 15, 5, 0])


def max_over_chi2_ball(stage: Stage, row: Row, eps: float) -> float:
    return chi2_ucrl.max_over_chi2_ball(stage, row, mean(stage, row), eps)[0]


def eps_of(base: Chi2_UCRL, n: int, *, shape: Shape = SHAPE) -> float:
    return chi2_radius(base.backup_rule(shape, 1000).constants, n)


def value(base: Chi2_UCRL, stage: Stage, row: Row) -> float:
    kernel = base.backup_rule(SHAPE, 1000)
    function = getattr(kernel.backup, "__wrapped__", kernel.backup)
    return float(function(kernel.constants, stage, row))


def dual(v: Floats, m: Ints, there: Floats, eps: Floats) -> Floats:
    """min over t > 0 and nu of an upper bound of max <p, V>.

    With a multiplier 1 / (2 t) of the ball and nu of the sum, the best p >= 0 is
    P^ + P+ t (V - nu), or zero: that is P+ t (b - nu)^+ with b = V, plus 1 / t where observed.
    All cases at once, one in each row; states that are not there have there = 0.
    """
    n = m.sum(axis=1, keepdims=True)
    p_hat, weight = m / n, np.maximum(m, 1) / n * there
    best = np.where(there > 0, v, -np.inf).max(axis=1, keepdims=True)
    centre = (p_hat * v).sum(axis=1, keepdims=True)
    x = (v - centre) * there
    span = np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-100)

    def bound(log: Floats) -> Floats:
        t = np.exp(log) / span
        b = x + (m > 0) / t
        order = np.argsort(np.where(there > 0, -b, np.inf), axis=1)
        w = np.take_along_axis(weight, order, axis=1)
        level = np.cumsum(w * np.take_along_axis(b, order, axis=1), axis=1) - 1 / t
        nu = (level / np.cumsum(w, axis=1)).max(axis=1, keepdims=True)
        p = weight * t * np.maximum(b - nu, 0.0)
        move = np.divide((p - p_hat) ** 2, weight, out=np.zeros_like(p), where=weight > 0)
        lagrangian = p * (x - nu) - move / (2 * t)
        return nu + eps[:, None] / (2 * t) + lagrangian.sum(axis=1, keepdims=True)

    lo = np.full_like(span, -14.0)
    hi = np.full_like(span, 45.0)
    for _ in range(70):
        a, c = (2 * lo + hi) / 3, (lo + 2 * hi) / 3
        left = bound(a) <= bound(c)
        lo, hi = np.where(left, lo, a), np.where(left, c, hi)
    return np.minimum(best, centre + np.minimum(bound(lo), bound(hi)))[:, 0]


@pytest.mark.parametrize(("eps", "expected"), [(0.05, 1.5487707321), (2.0, 2.5452023015)])
def test_the_maximum_matches_known_answers(eps: float, expected: float) -> None:
    assert max_over_chi2_ball(*GOLDEN, eps) == pytest.approx(expected, abs=1e-9)


def test_the_bonus_matches_a_known_answer() -> None:
    assert chi2_bonus(*GOLDEN, 0.05) == pytest.approx(0.1987707321, abs=1e-9)


def test_the_radii_match_their_formulas() -> None:
    log = math.log(4 * 16 * 2 * 5000 / 0.05)
    root = math.sqrt(2 * log * 50 / 49) + 7 * log * 50 / (3 * 49)
    assert eps_of(Chi2_UCRL(), 50) == pytest.approx(4 / 50 * root**2, rel=1e-12)
    assert eps_of(Chi2_UCRL(radius="practical"), 50) == pytest.approx(4 * log / 50, rel=1e-12)
    assert eps_of(Chi2_UCRL(radius="practical"), 1) == pytest.approx(4 * log, rel=1e-12)


def test_an_unobserved_better_state_counts_though_the_observed_ones_are_worth_the_same() -> None:
    # Two states, P^ = (1, 0), P+ = (1, 1/8): moving r costs r^2 (1 + 8).
    stage, row = make([1.0, 3.0], [8, 0])
    assert max_over_chi2_ball(stage, row, 0.09) == pytest.approx(1 + 2 * 0.1, abs=1e-14)
    assert chi2_bonus(stage, row, 0.09) == pytest.approx(2 * 0.1, abs=1e-14)


@pytest.mark.parametrize(
    ("v", "m"), [([2.0, 2.0, 2.0], [3, 0, 4]), ([0.5, 2.5, 2.5], [0, 3, 4]), ([1.75], [9])]
)
def test_where_nothing_better_is_possible_the_maximum_is_the_mean(
    v: list[float], m: list[int]
) -> None:
    stage, row = make(v, m)
    assert max_over_chi2_ball(stage, row, 0.5) == mean(stage, row)


def test_no_budget_leaves_the_mean() -> None:
    for v, m in hard_rows(200, 1, sizes=(1, 2, 5, 12)):
        stage, row = make(v, m)
        assert max_over_chi2_ball(stage, row, 0.0) == mean(stage, row)


def test_the_maximum_agrees_with_weak_duality() -> None:
    random = np.random.default_rng(7)
    sizes = (1, 2, 3, 6, 12, 30)
    rows = list(hard_rows(1500, 8, sizes=sizes))
    v, m, there = (np.zeros((len(rows), max(sizes))) for _ in range(3))
    eps = 10 ** random.uniform(-9, 1.5, len(rows))
    for i, (values, seen) in enumerate(rows):
        v[i, : seen.size], m[i, : seen.size], there[i, : seen.size] = values, seen, 1.0
        if i % 3 == 0:  # the radius in use
            eps[i] = eps_of(Chi2_UCRL(radius="practical"), int(seen.sum()))
    upper = dual(v, m.astype(np.int64), there, eps)
    for i, (values, seen) in enumerate(rows):
        # A value near 10 has no digits below 2e-15.
        slack = 1e-9 * np.ptp(values) + 1e-14
        found = max_over_chi2_ball(*make(values, seen), eps[i])
        assert found == pytest.approx(upper[i], rel=0, abs=slack), i


def test_one_observation_proves_nothing() -> None:
    stage, row = make([1, 2.5, 0, 3], [1, 0, 0, 0], reward=0.25)
    for scale in (1.0, 1e-9):
        assert value(Chi2_UCRL(scale=scale), stage, row) == 3.25
        assert value(Chi2_UCRL(scale=scale, form="bonus"), stage, row) == 4.25
    assert value(Chi2_UCRL(scale=1e-3, radius="practical"), stage, row) < 2
