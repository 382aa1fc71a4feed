"""UBEV, UCBVI-CH and UCBVI-BF against known answers and against their formulas, written anew."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.episode import Floats
from learner_rows import make
from random_problems import random_counts, random_shape

SHAPE, EPISODES = bl.Shape(4, 2, 5), 1000
V, M = [1, 2.5, 0, 4], [30, 15, 5, 0]
MEAN = 1.35

# beta as a function of (N', Var, H', doubt), given (S, A, H, K, delta); doubt is the expected
# min(100^2 H^3 S^2 A L^2 / N'(h+1, y), H^2)
Beta = Callable[[int, float, int, float], float]


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


def betas(base: bl.Base, shape: bl.Shape, K: int) -> Beta:
    """beta of each preset, written from the papers."""
    S, A, H = shape.states, shape.actions, shape.horizon
    L = np.log(5 * S * A * K * H / base.delta)
    formulas: dict[str, Beta] = {
        "H": lambda n, var, rest, doubt: 7 * H * L * n**-0.5,
        "H-h": lambda n, var, rest, doubt: 7 * rest * L * n**-0.5,
        "literal": lambda n, var, rest, doubt: (
            (8 * L * var / n) ** 0.5 + 14 * H * L / (3 * n) + (8 * doubt / n) ** 0.5
        ),
        "no_third": lambda n, var, rest, doubt: (8 * L * var / n) ** 0.5 + 14 * H * L / (3 * n),
        "two_term": lambda n, var, rest, doubt: (2 * L * var / n) ** 0.5 + H * L / n,
        "emp_bernstein": lambda n, var, rest, doubt: (
            (2 * L * var / n) ** 0.5 + 7 * rest * L / (3 * max(1, n - 1))
        ),
        "simplified_bernstein": lambda n, var, rest, doubt: n**-0.5 + (rest + 1) / n,
    }
    return formulas[getattr(base, "preset", "") or base.range]  # type: ignore[attr-defined]


def by_the_formulas(base: bl.Base, m: Any, rewards: Floats, K: int) -> Floats:
    """Q, (H, S, A), of dense counts: Eq. 4 for UCBVI, its own rule for UBEV."""
    H, S, A = rewards.shape
    q = np.zeros((H, S, A))
    v = np.zeros(S)
    L = np.log(5 * S * A * K * H / base.delta)
    for h in reversed(range(H)):
        rest = H - h - 1
        visits = m[h + 1].sum(axis=(1, 2)) if rest else np.zeros(S)
        with np.errstate(divide="ignore"):
            doubts = np.minimum(100**2 * H**3 * S**2 * A * L**2 / visits, H**2)
        for s, a in np.ndindex(S, A):
            n = int(m[h, s, a].sum())
            if isinstance(base, bl.UBEV):
                q[h, s, a] = rewards[h, s, a] + ubev_next(base, m[h, s, a], v, rest, (S, A, H))
                continue
            if n == 0:
                q[h, s, a] = min(rest + 1, rewards[h, s, a] + rest)
                continue
            p = m[h, s, a] / n
            var = p @ (v - p @ v) ** 2
            beta = base.scale * betas(base, bl.Shape(S, A, H), K)(n, var, rest, p @ doubts)
            q[h, s, a] = min(rest + 1, rewards[h, s, a] + p @ v + min(rest, beta))
        v = q[h].max(axis=1)
    return q


def ubev_next(base: bl.UBEV, m: Any, v: Floats, rest: int, sizes: tuple[int, int, int]) -> float:
    """Return UBEV's optimistic next-step value of a row."""
    n = int(m.sum())
    if n == 0:
        return float(v.max())
    S, A, H = sizes
    loglog = np.log(np.log(max(np.e, n)))
    phi = np.sqrt((2 * loglog + np.log(18 * S * A * H / base.delta)) / n)
    reach = np.ptp(v) if base.range == "span" else rest
    return float(min(v.max(), m @ v / n + base.scale * reach * phi))


def bases() -> Iterator[bl.Base]:
    for reach in ("H-h", "span"):
        yield bl.UBEV(range=reach)  # type: ignore[arg-type]
    for reach in ("H", "H-h"):
        yield bl.UCBVI_CH(range=reach)  # type: ignore[arg-type]
    for preset in ("literal", "no_third", "two_term", "emp_bernstein", "simplified_bernstein"):
        yield bl.UCBVI_BF(preset=preset)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "base",
    list(bases()),
    ids=lambda base: f"{base.name}-{getattr(base, 'preset', '') or base.range}",
)
def test_every_preset_plans_by_its_formula(base: bl.Base) -> None:
    rng = np.random.default_rng(20)
    inside = 0
    for i in range(150):
        shape = random_shape(rng, least=1)
        n, m = random_counts(rng, shape, most=int(10 ** rng.uniform(0, 5)))
        rewards = rng.random(shape.table)
        K = int(rng.integers(1, 10**5))
        tried = replace(base, scale=(1.0, 0.1, 0.003)[i % 3], delta=(0.05, 0.5)[i % 2])
        expected = by_the_formulas(tried, m, rewards, K)
        np.testing.assert_allclose(
            bl.plan(tried, n, m, rewards, episodes=K).q, expected, rtol=0, atol=1e-10
        )
        left = np.arange(shape.horizon, 0, -1)[:, None, None]
        cut = np.minimum(left, rewards + left - 1)
        inside += int(((n > 0) & (expected < cut - 1e-6))[:-1].sum())
    assert inside > 100  # enough of the values are not cut by H' or by the cap


def test_the_log_terms_of_ucbvi_need_k_and_those_of_ubev_do_not() -> None:
    rng = np.random.default_rng(21)
    shape = bl.Shape(3, 2, 3)
    n, m = random_counts(rng, shape, most=50)
    rewards = rng.random(shape.table)
    for base, same in ((bl.UBEV(scale=0.1), True), (bl.UCBVI_CH(scale=0.01), False)):
        few, many = (bl.plan(base, n, m, rewards, episodes=K).q for K in (10, 10_000))
        assert np.array_equal(few, many) is same
