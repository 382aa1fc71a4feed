import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from belated.episode import Floats, Ints, Shape
from belated.learner.backup import Row, Stage
from belated.learner.bases.base import BackupRule
from belated.learner.bases.ucrl2b import UCRL2B, box_bonus, half_width, max_over_box
from learner_rows import make

SHAPE, EPISODES = Shape(4, 2, 5), 1000
V, M = [1, 2.5, 0, 4], [30, 15, 5, 0]


def value(kernel: BackupRule, stage: Stage, row: Row) -> float:
    function = getattr(kernel.backup, "__wrapped__", kernel.backup)
    return float(function(kernel.constants, stage, row))


def intervals(m: Ints, scale: float, log: float) -> Floats:
    n = m.sum()
    p = m / n
    return scale * (2 * np.sqrt(p * (1 - p) * log / n) + 6 * log / n)


def linear_program(v: Floats, p: Floats, b: Floats) -> float:
    """max <q, v> over |q - p| <= b in the simplex; q = p + move."""
    lowest, span = v.min(), np.ptp(v)
    if span == 0:
        return float(lowest)
    unit = (v - lowest) / span
    solution = linprog(
        -unit,
        A_eq=np.ones((1, v.size)),
        b_eq=[0],
        bounds=list(zip(-np.minimum(p, b), np.minimum(1 - p, b), strict=True)),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solution.status == 0
    return float(lowest + span * (p @ unit - solution.fun))


def cases(number: int) -> Iterator[tuple[Floats, Ints, float, float]]:
    """Values, counts, a scale and l, with every kind of edge among them."""
    rng = np.random.default_rng(5)
    scales = (0.0, 1e-9, 1e-3, 0.02, 0.2, 1.0, 50.0)
    for i in range(number):
        S = int(rng.integers(1, 13))
        v = rng.uniform(0, 4, S)
        if i % 3 == 1:
            v = np.floor(v)  # ties
        if i % 3 == 2:
            v *= rng.random(S) < 0.3
        N = 1 if i % 5 == 0 else int(rng.integers(1, 5000))
        m = rng.multinomial(N, rng.dirichlet(np.full(S, 0.5)))
        if i % 4 == 3 and S > 1 and m[(best := np.argmax(v))] < N:
            m[best] = 0
        scale = scales[i % 7] if i % 2 else float(rng.uniform(0, 1.5))
        yield v, m.astype(np.int64), scale, math.log(4000 * int(m.sum()))


def test_the_intervals_and_both_forms_have_the_known_values() -> None:
    stage, row = make(V, M)
    scale, inside = UCRL2B().backup_rule(SHAPE, EPISODES).constants
    log = math.log(inside * row.n)
    assert log == pytest.approx(12.3883942023, abs=1e-9)
    b = [half_width(row, m, scale, log) for m in M]
    expected = [1.9743133312, 1.9428145188, 1.7852650319, 1.4866073043]
    assert b == pytest.approx(expected, abs=1e-9)
    assert max_over_box(stage, row, 1.0, log)[0] == pytest.approx(4, abs=1e-9)
    assert max_over_box(stage, row, 0.1, log)[0] == pytest.approx(2.1191380953, abs=1e-9)
    assert box_bonus(stage, row, 0.1, log) == pytest.approx(0.9159308723, abs=1e-9)
    exact = UCRL2B(scale=0.1).backup_rule(SHAPE, EPISODES)
    bonus = UCRL2B(scale=0.1, form="bonus").backup_rule(SHAPE, EPISODES)
    assert value(exact, stage, row) == pytest.approx(2.1191380953, abs=1e-9)
    assert value(bonus, stage, row) == pytest.approx(1.35 + 0.9159308723, abs=1e-9)


def test_the_maximum_agrees_with_a_linear_program() -> None:
    kinds = set()
    for v, m, scale, log in cases(420):
        stage, row = make(v, m)
        b = intervals(m, scale, log)
        gap = abs(max_over_box(stage, row, scale, log)[0] - linear_program(v, m / m.sum(), b))
        assert gap <= 1e-8 * np.ptp(v) + 1e-14, (v, m, scale)
        vacuous = b.min() >= 1
        kinds.add((m[np.argmax(v)] == 0, np.ptp(v[m > 0]) == 0, m.sum() == 1, scale == 0, vacuous))
    for i in range(len(next(iter(kinds)))):
        assert {kind[i] for kind in kinds} == {True, False}


def test_the_bonus_is_the_smallest_weighted_deviation_from_any_centre() -> None:
    for v, m, scale, log in cases(300):
        stage, row = make(v, m)
        b = intervals(m, scale, log)
        # A convex and piecewise linear function of the centre is smallest at one of its kinks.
        least = min(float(b @ abs(v - c)) for c in v)
        assert box_bonus(stage, row, scale, log) == pytest.approx(least, rel=1e-12, abs=1e-15)


def test_a_box_as_wide_as_the_simplex_gives_the_best_value() -> None:
    stage, row = make([0.1, 0.7, 0.3], [1, 1, 1])
    kernel = UCRL2B().backup_rule(SHAPE, EPISODES)
    assert value(kernel, stage, row) == pytest.approx(0.7, abs=1e-15)


def test_the_log_grows_with_the_count_and_not_with_the_run() -> None:
    short, long = UCRL2B().backup_rule(SHAPE, 10), UCRL2B().backup_rule(SHAPE, 10**6)
    assert np.array_equal(short.constants, long.constants)
    assert short.reads == "order"
