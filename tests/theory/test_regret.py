"""Tests of the theorems against their formulas and at known sizes."""

import math

import pytest

from belated.episode import Shape
from belated.theory import (
    delayed_rewards,
    epoch_bound,
    optimism,
    psi,
    theorem_1,
    theorem_2,
)
from belated.theory.bonus import BASES

CHAIN = Shape(states=5, actions=2, horizon=5)
K, T, HSA = 10_000, 50_000, 50
X = math.log(K * math.pi / 0.06)
L = math.log(25 * 2 * 5 * math.pi**2 / 0.06)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("mean", [0, 100])
def test_theorem_1_has_its_formula(base: str, mean: float) -> None:
    b = optimism(base, CHAIN, episodes=K, delta=0.01)
    late = psi(mean, K, 0.05)
    expected = 6 * (5 + b.C) * math.sqrt(T * X) + 6 * (
        4 * b.B * math.sqrt(HSA * T)
        + 3 * b.B * HSA * late
        + (b.B2 + 3 * b.C * 25 * 5 * L) * HSA * (2 * math.log(8 * T) + late * math.log(16 * late))
    )
    found = theorem_1(base, CHAIN, episodes=K, mean_delay=mean)
    assert found.total == pytest.approx(expected)
    assert (found.delay == 0) == (mean == 0)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("alpha", [1, 10, math.inf])
def test_theorem_2_has_its_formula(base: str, alpha: float) -> None:
    b = optimism(base, CHAIN, episodes=K, delta=0.01)
    slack, log = 1 + 1 / alpha, math.log(K / 10)
    J = epoch_bound(CHAIN, K, alpha)
    expected = (
        5 * J * (1 + psi(100, K, 0.05))
        + 6 * (5 + b.C) * math.sqrt(T * X)
        + 6
        * (
            6 * slack * b.C * 125 * 25 * 2 * L * log
            + math.sqrt(2 * slack * HSA * log * T * b.B1**2)
            + 2 * slack * b.B2 * HSA * log
        )
    )
    found = theorem_2(base, CHAIN, episodes=K, mean_delay=100, alpha=alpha)
    assert found.total == pytest.approx(expected)
    assert found.leading == theorem_2(base, CHAIN, episodes=K, mean_delay=0, alpha=alpha).total


def test_theorem_2_with_few_episodes_for_each_pair_takes_the_log_as_one() -> None:
    # K/SA = 2 < e
    b = optimism("ucrl2", CHAIN, episodes=20, delta=0.01)
    x = math.log(20 * math.pi / 0.06)
    expected = (
        5 * epoch_bound(CHAIN, 20, 1) * (1 + psi(3, 20, 0.05))
        + 6 * 5 * math.sqrt(100 * x)
        + 6 * math.sqrt(2 * 2 * HSA * 100) * b.B1
    )
    found = theorem_2("ucrl2", CHAIN, episodes=20, mean_delay=3, alpha=1)
    assert found.total == pytest.approx(expected)


def test_delayed_rewards_has_its_formula() -> None:
    late = psi(100, K, 0.05)
    log = math.log(2 * 10 * T * math.pi / 0.06)
    expected = (
        2 * 5 * math.sqrt(T * X)
        + 10 * 5**1.5 * 5 * math.sqrt(2 * T * math.log(2 * T * math.pi / 0.06))
        + 8 * math.sqrt(6 * HSA * T * log)
        + 6 * HSA * late * math.sqrt(6 * log)
    )
    found = delayed_rewards(CHAIN, episodes=K, mean_delay=100)
    assert found.total == pytest.approx(expected)
    extra = 6 * HSA * (late - psi(0, K, 0.05)) * math.sqrt(6 * log)
    assert found.delay == pytest.approx(extra)


def test_an_infinite_mean_delay_has_an_infinite_bound() -> None:
    for bound in (
        theorem_1("ucrl2", CHAIN, episodes=K, mean_delay=math.inf),
        theorem_2("ucrl2", CHAIN, episodes=K, mean_delay=math.inf, alpha=1),
        delayed_rewards(CHAIN, episodes=K, mean_delay=math.inf),
    ):
        assert bound.delay == bound.total == math.inf
        assert math.isfinite(bound.leading)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"episodes": 0}, "episodes must be at least 1, got 0."),
        ({"mean_delay": -1}, "mean_delay must be at least 0, got -1."),
        ({"delta": 1}, "delta must lie strictly between 0 and 1, got 1."),
        ({"alpha": 0.5}, r"alpha must be at least 1 \(inf is active updating\), got 0.5."),
        ({"base": "x"}, "base must be one of .*, got 'x'."),
    ],
)
def test_invalid_arguments_are_rejected(asked: dict[str, object], message: str) -> None:
    options = {"base": "ucrl2", "episodes": 9, "mean_delay": 1, "alpha": 1, **asked}
    with pytest.raises(ValueError, match=f"^{message}$"):
        theorem_2(shape=CHAIN, **options)  # type: ignore[arg-type]
