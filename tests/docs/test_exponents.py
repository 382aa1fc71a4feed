"""Exponents of power laws fitted to paired measurements."""

import numpy as np
import pytest

from exponents import fit_exponent

X = np.array([50.0, 100, 200, 400, 800])


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 1.5, 3.0])
def test_the_fit_finds_the_exponent_of_a_power_law(exponent: float) -> None:
    factors = np.linspace(1, 2, 10)[:, None]
    fitted = fit_exponent(X, 7 * factors * X**exponent)
    assert fitted.interval.estimate == pytest.approx(exponent, abs=1e-12)
    assert fitted.local == pytest.approx([exponent] * 4, abs=1e-12)
    if exponent:
        assert fitted.r_squared == pytest.approx(1)


def test_the_interval_covers_the_exponent_in_about_95_percent_of_samples() -> None:
    rng = np.random.default_rng(5)
    samples, covered = 200, 0
    for _ in range(samples):
        noise = rng.gamma(4, 1 / 4, size=(10, X.size))  # mean 1, independent of x
        low, high = fit_exponent(X, X**0.7 * noise).interval[1:]
        covered += low <= 0.7 <= high
    assert 0.88 * samples <= covered <= 0.995 * samples


def test_rows_that_vary_alike_at_every_point_do_not_widen_the_interval() -> None:
    rng = np.random.default_rng(6)
    common = rng.gamma(4, 1 / 4, size=(10, 1))
    own = rng.gamma(4, 1 / 4, size=(10, X.size))
    paired, unpaired = (fit_exponent(X, X * noise).interval for noise in (common, own))
    assert paired.high - paired.low < 0.01 * (unpaired.high - unpaired.low)


def test_a_bend_shows_in_the_local_exponents_and_in_r_squared() -> None:
    table = np.linspace(1, 2, 6)[:, None] * np.minimum(X, 200)
    fitted = fit_exponent(X, table)
    assert fitted.local == pytest.approx((1, 1, 0, 0))
    assert fitted.r_squared < 0.9


def test_a_mean_that_is_not_positive_has_no_exponent() -> None:
    table = np.ones((6, X.size))
    table[:, 0] = [-30, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="must be positive"):
        fit_exponent(X, table)


def test_the_interval_is_infinite_if_a_mean_may_not_be_positive() -> None:
    table = np.ones((6, X.size))
    table[:, 0] = [-4, 1, 1, 1, 1, 1]  # the mean is positive, but not in many resamples
    _, low, high = fit_exponent(X, table).interval
    assert (low, high) == (-np.inf, np.inf)
