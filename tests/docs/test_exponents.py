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
