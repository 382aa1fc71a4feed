"""KL-UCRL against known answers and weak duality."""

import math

import numpy as np
import pytest

from belated.elementary import expm1
from belated.episode import Floats, Shape
from belated.learner.backup import Row, Stage, mean
from belated.learner.bases import kl_ucrl
from belated.learner.bases.kl_ucrl import KL_UCRL, filippi_constant, kl_bonus, kl_radius
from hard_rows import hard_rows
from learner_rows import make

SHAPE = Shape(4, 2, 5)
GOLDEN = make([1, 2.5, 0, 4], [30, 15, 5, 0])


def max_over_kl_ball(stage: Stage, row: Row, eps: float) -> float:
    return kl_ucrl.max_over_kl_ball(stage, row, mean(stage, row), eps, expm1(-eps))


def eps_of(base: KL_UCRL, n: int, *, shape: Shape = SHAPE, episodes: int = 1000) -> float:
    return kl_radius(base.backup_rule(shape, episodes).constants, n)


def dual(v: Floats, p: Floats, eps: Floats) -> Floats:
    """min over nu >= max V of nu - exp(sum P^ ln(nu - V) - eps), an upper bound of max <p, V>.

    All cases at once, one in each row; states that are not there have v = -inf and p = 0. The
    bound is convex in nu, so thirds of ln(nu - max V) are thrown away until nothing is left.
    """
    best = v.max(axis=1, keepdims=True)
    there = np.isfinite(v)
    gaps = np.where(there, best - np.where(there, v, 0.0), 0.0)
    lack = (p * gaps).sum(axis=1, keepdims=True)
    span = np.maximum(gaps.max(axis=1, keepdims=True), 1e-100)

    def bound(x: Floats) -> Floats:
        y = np.exp(x) * span
        d = (lack - gaps) / (y + lack)
        near = np.log(np.where(d > 0.5, (y + gaps) / (y + lack), 1.0))
        logs = np.where(d > 0.5, near, np.log1p(-np.minimum(d, 0.5)))
        return -(y + lack) * np.expm1((p * logs).sum(axis=1, keepdims=True) - eps[:, None])

    lo = np.full_like(span, -45.0)
    hi = np.full_like(span, 30.0)
    for _ in range(90):
        a, b = (2 * lo + hi) / 3, (lo + 2 * hi) / 3
        left = bound(a) <= bound(b)
        lo, hi = np.where(left, lo, a), np.where(left, b, hi)
    return (best - lack + np.minimum(bound(lo), bound(hi)))[:, 0]


def test_the_uniform_radius_matches_its_formula() -> None:
    assert eps_of(KL_UCRL(), 50) == pytest.approx(0.3659930120, abs=1e-9)
    assert eps_of(KL_UCRL(), 50, episodes=10**6) == eps_of(KL_UCRL(), 50)


def test_the_constant_of_filippi_matches_its_formula() -> None:
    assert filippi_constant(4, 2, 5000, 0.05) == pytest.approx(51.4594508433, abs=1e-9)


def test_the_filippi_radius_counts_stages_as_actions_and_episodes_as_time() -> None:
    base = KL_UCRL(radius="filippi")
    assert eps_of(base, 50) == pytest.approx(filippi_constant(4, 10, 1000, 0.05) / 50, rel=1e-12)
    assert eps_of(base, 7, episodes=1) == pytest.approx(
        filippi_constant(4, 10, 3, 0.05) / 7, rel=1e-12
    )


@pytest.mark.parametrize("radius", ["uniform", "filippi"])
def test_a_single_state_leaves_no_doubt(radius: str) -> None:
    assert eps_of(KL_UCRL(radius=radius), 3, shape=Shape(1, 2, 5)) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("eps", "value"), [(0.3659930120463993, 2.2607685336), (0.05, 1.6126498198)]
)
def test_the_maximum_matches_known_answers(eps: float, value: float) -> None:
    assert max_over_kl_ball(*GOLDEN, eps) == pytest.approx(value, abs=1e-9)


def test_all_mass_on_one_state_gives_an_unobserved_better_one_what_is_left() -> None:
    stage, row = make([1.0, 3.0], [8, 0])
    assert max_over_kl_ball(stage, row, 0.7) == pytest.approx(3 - 2 * math.exp(-0.7), abs=1e-14)


@pytest.mark.parametrize(
    ("v", "m"), [([2.0, 2.0, 2.0], [3, 0, 4]), ([0.1, 2.3, 2.3], [0, 3, 4]), ([1.7], [9])]
)
def test_where_nothing_better_is_possible_the_maximum_is_the_mean(
    v: list[float], m: list[int]
) -> None:
    stage, row = make(v, m)
    assert max_over_kl_ball(stage, row, 0.5) == mean(stage, row)


def test_no_budget_leaves_the_mean() -> None:
    for v, m in hard_rows(200, 1, sizes=(1, 2, 5, 12)):
        stage, row = make(v, m)
        assert max_over_kl_ball(stage, row, 0.0) == mean(stage, row)


def test_the_maximum_agrees_with_weak_duality() -> None:
    random = np.random.default_rng(7)
    sizes = (1, 2, 3, 6, 12, 30)
    rows = list(hard_rows(1500, 8, sizes=sizes))
    v = np.full((len(rows), max(sizes)), -np.inf)
    p = np.zeros(v.shape)
    eps = 10 ** random.uniform(-11, 1.5, len(rows))
    eps[::9] = 1e-9
    for i, (values, m) in enumerate(rows):
        v[i, : m.size] = values
        p[i, : m.size] = m / m.sum()
        if i % 3 == 0:  # the radius in use
            eps[i] = eps_of(KL_UCRL(), int(m.sum()), shape=Shape(m.size, 2, 5))
    upper = dual(v, p, eps)
    for i, (values, m) in enumerate(rows):
        span = np.ptp(values)
        # A value near 10 has no digits below 2e-15.
        slack = 1e-9 * span + 1e-14
        assert max_over_kl_ball(*make(values, m), eps[i]) == pytest.approx(
            upper[i], rel=0, abs=slack
        ), i


def test_the_bonus_adds_the_span_to_the_variance_term() -> None:
    assert kl_bonus(*GOLDEN, 0.05) == pytest.approx(math.sqrt(0.1 * 0.6525) + 0.05 * 4, abs=1e-12)
