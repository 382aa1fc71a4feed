"""Tests of the alpha that minimizes the lazy bound, against a fine grid and plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.compiled import kernel
from belated.episode import Shape
from belated.theory import alpha_for, best_alpha, lazy_terms
from belated.theory.bonus import BASES

GRID = np.concatenate([1 / np.linspace(1, 1e-3, 4000), np.geomspace(1e3, 1e12, 500), [math.inf]])

SHAPES = st.builds(Shape, st.integers(1, 40), st.integers(1, 5), st.integers(1, 40))


def bounds(shape: Shape, K: int, mean: float, base: str, delta: float, alphas: object) -> object:
    """Return the part of the bound of Theorem 2 that depends on alpha, from `lazy_terms`."""
    x, once, growth, limit, linear, root = lazy_terms(shape, episodes=K, base=base, delta=delta)
    psi = mean + x + math.sqrt(2 * mean * x)
    u = 1 / np.asarray(alphas)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where(u > 0, growth / np.log1p(u), limit)
    return np.minimum(limit, once + grown) * (1 + psi) + linear * (1 + u) + root * np.sqrt(1 + u)


@given(
    SHAPES,
    st.integers(1, 10**7),
    st.floats(0, 1000),
    st.sampled_from(BASES),
    st.sampled_from([0.01, 0.05, 0.5]),
)
def test_no_alpha_of_a_fine_grid_has_a_smaller_bound(
    shape: Shape, K: int, mean: float, base: str, delta: float
) -> None:
    best = best_alpha(shape, episodes=K, mean_delay=mean, base=base, delta=delta)
    assert best >= 1
    least = bounds(shape, K, mean, base, delta, best)
    assert least <= np.min(bounds(shape, K, mean, base, delta, GRID)) * (1 + 1e-12)


def test_known_values() -> None:
    small = Shape(5, 2, 5)
    found = [
        best_alpha(small, episodes=100_000, mean_delay=mean, base=base)
        for base in ("ucrl2", "ucbvi-bf")
        for mean in (0, 100, 500)
    ]
    assert [round(alpha, 2) for alpha in found] == [8.48, 2.47, 1.18, 26.5, 8.18, 4.23]


@pytest.mark.plain
def test_compiled_and_plain_give_the_same_bits() -> None:
    compiled = kernel(alpha_for)
    for S, H, K in ((1, 1, 1), (5, 5, 10_000), (30, 30, 100_000), (30, 30, 10**8)):
        for base in BASES:
            terms = lazy_terms(Shape(S, 2, H), episodes=K, base=base, delta=0.05)
            for mean in (0.0, 0.3, 7.0, 123.456, 1e6, 1e300, math.inf):
                assert compiled(terms, mean) == alpha_for(terms, mean)


def test_alpha_is_infinite_where_the_bound_on_epochs_is_the_number_of_episodes() -> None:
    # J = K for every alpha, and the other terms decrease with alpha
    assert best_alpha(Shape(30, 2, 30), episodes=50, mean_delay=10) == math.inf
    assert best_alpha(Shape(30, 2, 30), episodes=100, mean_delay=10) == math.inf


def test_alpha_is_one_where_the_mean_delay_is_infinite() -> None:
    assert best_alpha(Shape(5, 2, 5), episodes=1000, mean_delay=math.inf) == 1


def test_an_unknown_base_is_treated_like_ucbvi_ch() -> None:
    shape = Shape(5, 2, 5)
    unknown = lazy_terms(shape, episodes=1000, base="unknown", delta=0.05)
    assert (
        unknown.tolist() == lazy_terms(shape, episodes=1000, base="ucbvi-ch", delta=0.05).tolist()
    )
    assert unknown.dtype == np.float64
