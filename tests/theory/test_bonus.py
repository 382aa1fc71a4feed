"""Tests of the constants C, B, B_1 and B_2 against the bases."""

import math

import numpy as np
import pytest

import belated as bl
from belated.learner.bases import OPTIMISTIC
from belated.theory import optimism
from belated.theory.bonus import NUMERATORS
from random_problems import random_counts, random_shape

K = 10**7

VARIANTS: dict[str, list[dict[str, str]]] = {
    "ubev": [{}, {"range": "span"}],
    "ucbvi-ch": [{}, {"range": "H-h"}],
    "ucbvi-bf": [
        {"preset": preset}
        for preset in ("literal", "no_third", "two_term", "emp_bernstein", "simplified_bernstein")
    ],
    "ucrl2": [
        {"form": "bonus", "radius": radius} for radius in ("weissman", "common", "jaksch", "paper")
    ],
    "ucrl2b": [{}, {"form": "bonus"}],
    "kl-ucrl": [{"radius": radius} for radius in ("uniform", "filippi")],
    "chi2-ucrl": [{"form": form} for form in ("exact", "bonus")],
}


def test_bases_with_constants_are_optimistic_and_tried_here() -> None:
    assert set(NUMERATORS) <= set(OPTIMISTIC)
    assert set(NUMERATORS) == set(VARIANTS)


def ratios(base: bl.Base, rng: np.random.Generator) -> list[float]:
    """Return Q - R - <P^, V~> divided by B / sqrt(N') + B_2 / N', for the rows of a random plan."""
    shape = random_shape(rng)
    n, m = random_counts(rng, shape, most=K // 20)
    rewards = rng.random(shape.table) / 2
    plan = bl.plan(base, n, m, rewards, episodes=K)
    seen = np.maximum(1, n)
    gain = plan.q - rewards - (m @ plan.v[1:, None, :, None])[..., 0] / seen
    numbers = optimism(base.name, shape, episodes=K, delta=base.delta)
    return (gain / (numbers.B / np.sqrt(seen) + numbers.B2 / seen)).ravel().tolist()


@pytest.mark.parametrize("name", VARIANTS)
def test_bonuses_are_below_the_numerators_and_some_are_close(name: str) -> None:
    rng = np.random.default_rng(7)
    largest = [
        max(max(ratios(OPTIMISTIC[name](**options), rng)) for _ in range(12))
        for options in VARIANTS[name]
    ]
    assert all(ratio <= 1 + 1e-9 for ratio in largest)
    assert max(largest) > 0.1


@pytest.mark.parametrize("name", VARIANTS)
def test_b1_is_the_root_mean_square_of_the_numerators_over_the_steps(name: str) -> None:
    for shape in (bl.Shape(3, 2, 1), bl.Shape(3, 2, 2), bl.Shape(4, 3, 7)):
        H = shape.horizon
        _, slope, flat, _ = NUMERATORS[name](shape, K, 0.05)
        squares = [(slope * (H - h) + flat) ** 2 for h in range(1, H + 1)]
        numbers = optimism(name, shape, episodes=K)
        assert math.isclose(numbers.B1**2, sum(squares) / H)
        assert math.isclose(numbers.B**2, max(squares))


def test_constants_are_the_published_ones() -> None:
    shape = bl.Shape(states=4, actions=2, horizon=5)
    log = math.log(5 * 8 * 5000 / 0.05)  # 15.2018049191
    ch, bf, ucrl2, kl = (
        optimism(name, shape, episodes=1000)
        for name in ("ucbvi-ch", "ucbvi-bf", "ucrl2", "kl-ucrl")
    )
    assert pytest.approx(35 * log) == ch.B
    assert pytest.approx(math.sqrt(8 * log) * 4 / 2 + math.sqrt(8) * 5) == bf.B
    assert pytest.approx(14 * 5 * log / 3) == bf.B2
    assert pytest.approx(2 * math.sqrt(56 * math.log(20_000 / 0.05))) == ucrl2.B
    # Filippi's C_P with A H for A and K for T
    b = math.log(2 * math.e * 16 * 10 * math.log(1000) / 0.05)
    g = b + 1 / math.log(1000)
    assert pytest.approx(4 * math.sqrt(2 * (b + math.log(g) * (1 + 1 / g)))) == kl.B


def test_the_error_for_an_unknown_base_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"^base must be one of 'ubev', .*'chi2-ucrl', got 'sarsa'\.$"
    ):
        optimism("sarsa", bl.Shape(2, 2, 2), episodes=10)
