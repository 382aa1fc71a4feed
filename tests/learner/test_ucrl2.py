import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from belated.episode import Floats, Ints, Shape
from belated.learner.backup import Row, Stage
from belated.learner.bases.base import BackupRule
from belated.learner.bases.ucrl2 import UCRL2, max_over_l1_ball
from learner_rows import make

SHAPE, EPISODES = Shape(4, 2, 5), 1000
V, M = [1, 2.5, 0, 4], [30, 15, 5, 0]


def value(kernel: BackupRule, stage: Stage, row: Row) -> float:
    function = getattr(kernel.backup, "__wrapped__", kernel.backup)
    return float(function(kernel.constants, stage, row))


def linear_program(v: Floats, p: Floats, eps: float) -> float:
    """max <q, v> over |q - p|_1 <= eps in the simplex; q = p + up - down."""
    S = v.size
    lowest, span = v.min(), np.ptp(v)
    if span == 0:
        return float(lowest)
    unit = (v - lowest) / span
    solution = linprog(
        np.concatenate((-unit, unit)),
        A_ub=np.ones((1, 2 * S)),
        b_ub=[eps],
        A_eq=np.concatenate((np.ones((1, S)), -np.ones((1, S))), axis=1),
        b_eq=[0],
        bounds=[(0, None)] * S + [(0, x) for x in p],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solution.status == 0
    return float(lowest + span * (p @ unit - solution.fun))


def cases(number: int) -> Iterator[tuple[Floats, Ints, float]]:
    """Values, counts and a radius, with every kind of edge among them."""
    rng = np.random.default_rng(4)
    radii = (0.0, 1e-9, 1e-3, 0.3, 1.0, 2.0, 50.0)
    for i in range(number):
        S = int(rng.integers(1, 13))
        v = rng.uniform(0, 4, S)
        if i % 3 == 1:
            v = np.floor(v)  # ties
        if i % 3 == 2:
            v *= rng.random(S) < 0.3
        N = 1 if i % 5 == 0 else int(rng.integers(1, 200))
        m = rng.multinomial(N, rng.dirichlet(np.full(S, 0.5)))
        if i % 4 == 3 and S > 1 and m[(best := np.argmax(v))] < N:
            m[best] = 0
        eps = radii[i % 7] if i % 2 else float(rng.uniform(0, 2.5))
        yield v, m.astype(np.int64), eps


def test_the_radius_and_both_forms_have_the_known_values() -> None:
    stage, row = make(V, M)
    scale, c = UCRL2().backup_rule(SHAPE, EPISODES).constants
    eps = scale * math.sqrt(c / row.n)
    assert eps == pytest.approx(0.8090724499, abs=1e-9)
    assert max_over_l1_ball(stage, row, eps) == pytest.approx(2.6636086748, abs=1e-9)
    assert max_over_l1_ball(stage, row, 0.5) == pytest.approx(2.2, abs=1e-9)
    exact = UCRL2(scale=0.5 / eps).backup_rule(SHAPE, EPISODES)
    bonus = UCRL2(scale=0.5 / eps, form="bonus").backup_rule(SHAPE, EPISODES)
    assert value(exact, stage, row) == pytest.approx(2.2, abs=1e-9)
    assert value(bonus, stage, row) == pytest.approx(1.35 + 1.0, abs=1e-9)


def test_the_maximum_agrees_with_a_linear_program() -> None:
    kinds = set()
    for v, m, eps in cases(420):
        stage, row = make(v, m)
        gap = abs(max_over_l1_ball(stage, row, eps) - linear_program(v, m / m.sum(), eps))
        assert gap <= 1e-8 * np.ptp(v) + 1e-14, (v, m, eps)
        kinds.add((m[np.argmax(v)] == 0, np.ptp(v[m > 0]) == 0, m.sum() == 1, eps == 0, eps >= 2))
    for i in range(len(next(iter(kinds)))):
        assert {kind[i] for kind in kinds} == {True, False}


def test_a_vacuous_ball_gives_exactly_the_best_value() -> None:
    stage, row = make([0.1, 0.7, 0.3], [1, 1, 1])
    assert max_over_l1_ball(stage, row, 2 * (1 - 1 / 3) + 1e-9) == 0.7
    assert max_over_l1_ball(stage, row, 2 * (1 - 1 / 3) - 1e-6) < 0.7


def test_a_ball_that_just_reaches_the_best_value_does_not_pass_it() -> None:
    for v, m, _ in cases(600):
        stage, row = make(v, m)
        below = int(m[v < v.max()].sum())
        assert v.max() - 1e-14 <= max_over_l1_ball(stage, row, 2 * below / row.n) <= v.max()


@pytest.mark.parametrize(
    ("radius", "expected"),
    [
        ("weissman", 2 * math.log(2**4 * 4 * 2 * 5000 / 0.05)),
        ("common", 8 * math.log(2 * 4 * 2 * 5000 / 0.05)),
        ("jaksch", 56 * math.log(2 * 2 * 5000 / 0.05)),
        ("paper", 24 * math.log(2 * 5000 * math.pi / (6 * 0.01))),
    ],
)
def test_each_radius_has_its_published_constant(radius: str, expected: float) -> None:
    constants = UCRL2(radius=radius).backup_rule(SHAPE, EPISODES).constants  # type: ignore[arg-type]
    assert constants == pytest.approx([1.0, expected])
