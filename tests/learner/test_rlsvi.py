"""Randomised value functions: the normal noise, known answers, and what is drawn when."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import belated as bl
from belated.randomness import VALUE_NOISE, normal, uniform

pytestmark = pytest.mark.filterwarnings("ignore:Episode .* of a learner with episodes=")

UNLIKELY = 1e-3  # a p-value that a fixed seed should not fall below
DRAWS = 4000


# Normal variables


@pytest.mark.parametrize("along", ["plan", "cell"])
def test_normal_variables_have_their_law(along: str) -> None:
    drawn = np.array(
        [
            normal(np.uint64(11), VALUE_NOISE, *((i, 5) if along == "plan" else (5, i)), 0)
            for i in range(DRAWS)
        ]
    )
    assert stats.kstest(drawn, "norm").pvalue > UNLIKELY
    assert stats.kstest(drawn, stats.norm(scale=1.1).cdf).pvalue < 0.05
    assert abs(drawn.mean()) < 4 / math.sqrt(DRAWS)
    assert drawn.var() == pytest.approx(1, abs=4 * math.sqrt(2 / DRAWS))
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 4 / math.sqrt(DRAWS)


# Plans


def test_one_plan_has_the_known_answer() -> None:
    """S = 2, A = 1, H = 2; the uniforms at seed 1, plan 0 written out, the rest by hand."""
    m = np.array([[[[1, 2]], [[0, 0]]], [[[3, 0]], [[0, 1]]]])
    u = {
        (cell, i): uniform(1, VALUE_NOISE + (i << 8), 0, cell) for cell in range(4) for i in (0, 1)
    }
    w = [
        math.sqrt(-2 * math.log1p(-u[cell, 0])) * math.cos(2 * math.pi * u[cell, 1])
        for cell in range(4)
    ]
    beta = 0.5 * 2 * 8 * math.log(2 * 2 * 2 * 1 * (1 + 7 / 2))  # seven steps, 3.5 episodes
    last = [0.5 + w[2] * math.sqrt(beta / 4), 0.25 + w[3] * math.sqrt(beta / 2)]
    first = [(1 * last[0] + 2 * last[1]) / 4 + w[0] * math.sqrt(beta / 4), w[1] * math.sqrt(beta)]
    rewards = np.array([[[0.0], [0.0]], [[0.5], [0.25]]])
    plan = bl.plan(bl.RLSVI(), m.sum(axis=3), m, rewards, episodes=10, seed=1)
    np.testing.assert_allclose(plan.v[:2], [first, last], rtol=1e-12)


def drawn_values(base: bl.RLSVI, paid: list[float], draws: int) -> Any:
    """Return Q of the only row, with unknown rewards, in each of the plans of one learner."""
    learner = bl.Learner(
        bl.Shape(1, 1, 1), base=base, updater=bl.Active(), rewards=None, episodes=10, seed=3
    )
    learner.observe([bl.Episode(i, [0, 0], [0], [reward]) for i, reward in enumerate(paid)])
    drawn = []
    for id in range(draws):
        drawn.append(float(learner.value[0]))
        learner.start(10**6 + id)
    return np.array(drawn)


@pytest.mark.parametrize("paid", [[], [1.0, 0.0, 0.5, 1.0]])
def test_an_unknown_reward_is_divided_by_one_more_than_its_count(paid: list[float]) -> None:
    """One state, action and step: Q ~ N(sum / (n + 1), ln(2 (1 + n)) / 2 / (n + 1))."""
    n = len(paid)
    law = stats.norm(sum(paid) / (n + 1), math.sqrt(math.log(2 * (1 + n)) / 2 / (n + 1)))
    drawn = drawn_values(bl.RLSVI(resample="episode"), paid, 1500)
    assert stats.kstest(drawn, law.cdf).pvalue > UNLIKELY


def test_without_noise_an_unseen_row_is_worth_its_known_reward() -> None:
    rewards = np.array([[0.25, 0.75], [0.5, 0.0]])
    none = np.zeros((3, 2, 2, 2), np.int64)
    plan = bl.plan(bl.RLSVI(0.0), none.sum(axis=3), none, rewards, episodes=10)
    np.testing.assert_array_equal(plan.q, np.stack([rewards] * 3))


def test_the_noise_is_independent_over_the_steps_even_if_counts_are_pooled() -> None:
    none = np.zeros((2, 2, 2), np.int64)
    plan = bl.plan(bl.RLSVI(), none.sum(axis=2), none, np.zeros((2, 2)), horizon=3, episodes=10)
    assert np.unique(plan.q).size == plan.q.size


def test_clipping_chooses_by_the_values_before_the_limit() -> None:
    """With so much noise nearly all V are limited, and yet no action is preferred to another."""
    none = np.zeros((6, 20, 4, 20), np.int64)
    plan = bl.plan(bl.RLSVI(clip=True), none.sum(axis=3), none, np.zeros((6, 20, 4)), episodes=10)
    assert stats.chisquare(np.bincount(plan.policy.ravel(), minlength=4)).pvalue > UNLIKELY
