"""Bandits: one step, UCB and Thompson sampling as special cases, and what delay costs."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import belated as bl
from belated.learner.bases import OPTIMISTIC

# Some learners here begin more episodes than they are told of.
pytestmark = pytest.mark.filterwarnings("ignore:Episode .* of a learner with episodes=")

UNLIKELY = 1e-3  # a p-value that a fixed seed should not fall below
MEANS = (0.3, 0.5, 0.8)


def test_a_bandit_has_one_state_one_step_and_an_action_for_each_arm() -> None:
    world = bl.bandit(MEANS)
    assert world.shape == bl.Shape(states=1, actions=3, horizon=1)
    assert world.rewards.ravel().tolist() == list(MEANS)
    assert world.reward_draws == "bernoulli"
    assert bl.bandit(np.array(MEANS), rewards="beta").reward_draws == "beta"
    assert bl.optimal_value(world) == 0.8
    bl.checks.check_world(world)


def test_a_bandit_has_a_name() -> None:
    named = bl.world("bandit-0.25-1-0.5")
    assert named.rewards.ravel().tolist() == [0.25, 1.0, 0.5]
    assert named.reward_draws == "bernoulli"
    for name in ("bandit", "bandit-", "bandit-0.5-", "bandit-.5", "bandit-0.5x0.5"):
        with pytest.raises(ValueError, match=r"^world must be one of .*bandit-MEAN-MEAN\.\.\., "):
            bl.world(name)


@pytest.mark.parametrize(
    ("means", "message"),
    [
        ([], r"^means must be a list of at least one number, got \[\]\.$"),
        ([[0.1]], r"^means must be a list of at least one number, got \[\[0\.1\]\]\.$"),
        ([0.1, 1.5], r"^means must lie in \[0, 1\], got 1\.5\.$"),
        ([0.1, math.nan], r"^means must lie in \[0, 1\], got nan\.$"),
        (["a"], r"^means must be a rectangular array of numbers, got \['a'\]\.$"),
        (0.5, r"^means must be a list of at least one number, got 0\.5\.$"),
    ],
)
def test_means_that_are_not_probabilities_are_refused(means: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        bl.bandit(means)


def test_an_unknown_law_of_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="reward_draws must be one of"):
        bl.bandit(MEANS, rewards="normal")  # type: ignore[arg-type]


# Closed forms


@pytest.mark.parametrize("delay", ["constant:0", "geometric:30"])
def test_uniform_play_loses_the_mean_gap_in_every_episode(delay: str) -> None:
    run = bl.simulate(bl.bandit(MEANS), base="random", updater="active", delay=delay, episodes=300)
    assert run.total_regret == pytest.approx(300 * (0.8 - np.mean(MEANS)), rel=1e-12)


# UCB


def ucb_learner(base: Any, arms: int, **options: Any) -> bl.Learner:
    return bl.Learner(
        bl.Shape(1, arms, 1), base=base, updater=bl.Active(), rewards=None, episodes=500, **options
    )


def outcomes(paid: list[list[float]]) -> list[bl.Episode]:
    """One episode for each reward of each arm."""
    return [
        bl.Episode(100 * a + i, [0, 0], [a], [reward])
        for a, rewards in enumerate(paid)
        for i, reward in enumerate(rewards)
    ]


@pytest.mark.parametrize("name", OPTIMISTIC)
def test_every_optimistic_base_has_the_index_of_ucb(name: str) -> None:
    paid = [[0.0, 0.0, 0.25] * 20, [0.5, 0.0] * 30, [0.0] * 90]
    for scale, delta in ((1.0, 0.05), (0.3, 0.5)):
        learner = ucb_learner(OPTIMISTIC[name](scale=scale, delta=delta), 3)
        learner.observe(outcomes(paid))
        c = math.log(4 * 3 * 500 / delta)
        indices = [np.mean(x) + scale * math.sqrt(c / (2 * len(x))) for x in paid]
        assert max(indices) < 1
        assert float(learner.value[0]) == pytest.approx(max(indices), rel=1e-12)
        assert int(learner.policy.actions[0, 0]) == int(np.argmax(indices))
    fresh = ucb_learner(OPTIMISTIC[name](), 3)
    fresh.observe(outcomes([[1.0], [1.0], []]))
    assert float(fresh.value[0]) == 1.0


# Thompson sampling


def test_psrl_pulls_an_arm_as_often_as_its_beta_variable_is_the_largest() -> None:
    paid: list[list[float]] = [[1, 0, 0, 1], [1, 1], []]
    learner = ucb_learner(bl.PSRL(resample="episode"), 3, seed=2)
    learner.observe(outcomes(paid))
    pulled = np.bincount(
        [int(learner.start(10**6 + i).actions[0, 0]) for i in range(3000)], minlength=3
    )
    laws = [stats.beta(1 + sum(x), 1 + len(x) - sum(x)) for x in paid]
    expected = [
        integrate.quad(
            lambda x, i=i: (
                laws[i].pdf(x) * math.prod(law.cdf(x) for j, law in enumerate(laws) if j != i)
            ),
            0,
            1,
        )[0]
        for i in range(3)
    ]
    assert sum(expected) == pytest.approx(1)
    assert stats.chisquare(pulled, 3000 * np.array(expected)).pvalue > UNLIKELY


# The cost of delay


def pulls_and_missing(run: Any, delays: Any, arms: int) -> tuple[Any, Any]:
    """Return how often each arm was pulled, and the most outcomes of it missing at once."""
    pulled = np.array(run.policies)[:, 0, 0]
    missing = [
        max(
            int(((pulled[: k - 1] == a) & (np.arange(1, k) + delays[: k - 1] >= k)).sum())
            for k in range(1, pulled.size + 1)
        )
        for a in range(arms)
    ]
    return np.bincount(pulled, minlength=arms), np.array(missing)


def ucb_bound(means: Any, *, episodes: int, missing: Any = 0, delta: float = 0.05) -> Any:
    """Return the bound on the regret of UCB with delayed outcomes: both of its sums.

    It is the bound of docs/bandits.md. Proof: by Hoeffding's inequality and a union bound over A
    arms, at most K counts and two sides, every r^ is within sqrt(c / (2 N')) of its mean. Then an
    arm is pulled only if its index is at least max_j means[j], hence only if N' <= 2 c / D_i^2. All
    its pulls before the last one are either among these N' or missing, so that it is pulled at most
    2 c / D_i^2 + G_i + 1 times.
    """
    gaps = max(means) - np.array(means)
    c = math.log(4 * len(means) * episodes / delta)
    without = sum(2 * c / gap + gap for gap in gaps if gap > 0)
    return without, float((gaps * missing).sum())


@pytest.mark.parametrize("law", ["constant:0", "constant:150", "geometric:60"])
def test_ucb_stays_below_its_bound_with_the_missing_outcomes_of_each_arm(law: str) -> None:
    means, K = [0.1, 0.05, 0.9], 500
    gaps = 0.9 - np.array(means)
    above = 0
    for seed in range(8):
        run = bl.simulate(
            bl.bandit(means),
            base="ucbvi-ch",
            updater="active",
            delay=law,
            rewards="unknown",
            episodes=K,
            seed=seed,
            trace=True,
        )
        delays = bl.delays.parse(law).draw(seed=seed, episodes=K)
        pulled, missing = pulls_and_missing(run, delays, 3)
        without, added = ucb_bound(means, episodes=K, missing=missing)
        assert run.total_regret == pytest.approx(gaps @ pulled)
        assert run.total_regret <= without + added
        above += run.total_regret > without
    if law != "geometric:60":
        assert above == (8 if law == "constant:150" else 0)  # the delay term is needed
