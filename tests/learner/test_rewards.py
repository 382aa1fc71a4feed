"""Rewards that are not known: what is hoped for, what has been earned, and optimism."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.learner.bases import OPTIMISTIC, EpsilonGreedy
from belated.learner.problem import LearningProblem
from belated.learner.rewards import BONUSES, UNIT
from random_problems import random_episodes, random_shape

# Some learners here observe more episodes than they are told of.
pytestmark = pytest.mark.filterwarnings("ignore:Episode .* of a learner with episodes=")

SHAPE = bl.Shape(2, 3, 4)
EPISODES = 500
S, A, H, T = 2, 3, 4, 2000
SMALL = 0.01  # a scale that leaves values below their caps

every_bonus = pytest.mark.parametrize("bonus", BONUSES)
every_optimistic = pytest.mark.parametrize("base", OPTIMISTIC.values(), ids=OPTIMISTIC.keys())


def learner(base: bl.Base | None = None, **options: Any) -> bl.Learner:
    return bl.Learner(
        options.pop("shape", SHAPE),
        base=base or bl.UCRL2(),
        updater=options.pop("updater", bl.Active()),
        rewards=None,
        episodes=EPISODES,
        **options,
    )


def hopes(learner: bl.Learner) -> Any:
    """r~, (H, S, A)."""
    rewards = learner.snapshot()["instances"][0]["rewards"]
    return rewards.reshape(learner.shape.table)


def paying(rewards: Any, *, first: int = 1) -> list[bl.Episode]:
    """Episodes that go through one triple at each step and pay what is asked there."""
    return [
        bl.Episode(first + i, [1] * (H + 1), [2] * H, [reward] * H)
        for i, reward in enumerate(rewards)
    ]


@pytest.mark.parametrize(
    ("bonus", "eps"),
    [
        # ln(2 S A T / .025) = ln 960,000 = 13.774688...
        ("hoeffding", 0.131219),  # sqrt(13.774688 / 800)
        ("paper", 0.458976),  # sqrt(6 ln(24,000 pi / 0.06) / 400)
        ("jaksch", 0.347172),  # sqrt(7 * 13.774688 / 800)
        ("filippi", 0.113651),  # sqrt(ln(3840 ln(2000)) / 796)
        ("bernstein", 0.411130),  # 2 sqrt(.25 l / 400) + 6 l / 400, l = ln(5760 * 400)
        ("ubev", 0.182606),  # sqrt((2 ln ln 400 + ln 17,280) / 400)
    ],
)
def test_known_answers(bonus: str, eps: float) -> None:
    """400 coins, half of them heads: r^ = 1/2, variance 1/4."""
    taught = learner(bl.UCRL2(), reward_bonus=bonus)
    taught.observe(paying([0, 1] * 200))
    assert hopes(taught)[0, 1, 2] == pytest.approx(0.5 + eps, abs=1e-6)


@every_bonus
def test_a_hope_is_never_above_one(bonus: str) -> None:
    taught = learner(bl.UCRL2(scale=3), reward_bonus=bonus)
    taught.observe(paying([1.0, 0.9]))
    assert hopes(taught)[0, 1, 2] == 1


@every_bonus
def test_a_scale_of_zero_hopes_for_the_mean(bonus: str) -> None:
    taught = learner(bl.UCRL2(scale=0), reward_bonus=bonus)
    taught.observe(paying([0.25, 0.5]))
    hoped = hopes(taught)
    assert (hoped[:, 1, 2] == 0.375).all()
    assert hoped[0, 0, 0] == 1


def test_without_hope_what_was_never_seen_is_worth_nothing() -> None:
    taught = learner(EpsilonGreedy())
    assert (hopes(taught) == 0).all()
    taught.observe(paying([0.25, 0.5]))
    assert (hopes(taught)[:, 1, 2] == 0.375).all()
    assert hopes(taught).sum() == 4 * 0.375


# The guarantee is shared


@every_optimistic
def test_half_of_delta_is_left_for_transitions(base: type[bl.Base]) -> None:
    rng = np.random.default_rng(1)
    taught = learner(base(scale=SMALL, delta=0.2))
    m = np.zeros((H, S, A, S), np.int64)
    episodes = [
        bl.Episode(e.id, e.states, e.actions, rng.random(H))
        for e in random_episodes(rng, SHAPE, 400)
    ]
    for e in episodes:
        np.add.at(m, (np.arange(H), e.states[:-1], e.actions, e.states[1:]), 1)
    taught.observe(episodes)
    q = taught.snapshot()["instances"][0]["table"]["q"].reshape(H, S, A)
    plans = {
        delta: bl.plan(
            base(scale=SMALL, delta=delta), m.sum(axis=3), m, hopes(taught), episodes=EPISODES
        )
        for delta in (0.1, 0.2)
    }
    np.testing.assert_array_equal(q, plans[0.1].q)
    if base is not bl.Chi2_UCRL:  # whose usual radius knows no delta
        assert (q[:-1] != plans[0.2].q[:-1]).any()


def test_known_rewards_leave_all_of_delta_to_transitions() -> None:
    for rewards, delta in ((np.zeros((S, A)), 0.05), (None, 0.025)):
        problem = LearningProblem(
            shape=SHAPE, base=bl.UCBVI_CH(), updater=bl.Active(), rewards=rewards, episodes=9
        )
        expected = bl.UCBVI_CH(delta=delta).backup_rule(SHAPE, 9).constants
        np.testing.assert_array_equal(problem.backup_rule.constants, expected)


# Sums


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_arrivals_never_changes_an_estimate(rewards: list[float], random: Any) -> None:
    episodes = paying(rewards)
    shuffled = episodes.copy()
    random.shuffle(shuffled)
    snapshots = []
    for order in (episodes, shuffled):
        taught = learner(bl.UCRL2(scale=SMALL), reward_bonus="bernstein")
        half = random.randrange(len(order))
        taught.observe(order[:half])
        taught.observe(order[half:])
        snapshots.append(taught.snapshot()["instances"][0])
    one, other = snapshots
    for name in ("n", "total", "squares"):
        assert one["reward_sums"][name].tobytes() == other["reward_sums"][name].tobytes()
    assert one["rewards"].tobytes() == other["rewards"].tobytes()
    assert one["table"]["q"].tobytes() == other["table"]["q"].tobytes()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_mean_is_right_to_ten_digits(rewards: list[float]) -> None:
    taught = learner()
    taught.observe(paying(rewards))
    sums = taught.snapshot()["instances"][0]["reward_sums"]
    row = 1 * A + 2
    assert sums["n"][row] == len(rewards)
    assert sums["total"][row] / UNIT / len(rewards) == pytest.approx(
        np.mean(rewards), rel=0, abs=2**-32
    )


# Optimism


def unbroken(base: bl.Base, runs: int, **options: Any) -> float:
    """The share of runs in random worlds of coins in which V~_1 >= V*_1 in every episode."""
    rng = np.random.default_rng(2)
    kept = 0
    for seed in range(runs):
        H, S, A = random_shape(rng, least=1, most=3).table
        world = bl.MDP.dense(
            rng.dirichlet(np.ones(S), (H, S, A)),
            rng.random((H, S, A)),
            start=rng.dirichlet(np.ones(S)),
            reward_draws="bernoulli",
        )
        run = bl.simulate(
            world,
            base=base,
            updater=bl.Active(),
            delay=bl.delays.geometric(int(rng.integers(0, 6))),
            episodes=250,
            seed=seed,
            rewards=None,
            late=rng.choice(["everything", "rewards"]),
            **options,
        )
        kept += run.optimism_broken == 0
    return kept / runs


@every_optimistic
def test_optimism_holds_in_all_but_a_twentieth_of_runs(base: type[bl.Base]) -> None:
    assert base().delta == 0.05
    assert unbroken(base(), 40) >= 0.95


@every_bonus
def test_optimism_holds_with_every_bonus(bonus: str) -> None:
    assert unbroken(bl.UCRL2(), 30, reward_bonus=bonus) >= 0.95


@every_optimistic
def test_without_a_bonus_optimism_breaks(base: type[bl.Base]) -> None:
    assert unbroken(base(scale=0), 20) < 0.5


def test_where_rewards_alone_are_uncertain_their_bonus_is_what_keeps_optimism() -> None:
    """One state and one step: no transition matters, and the bonus is all there is."""
    means = np.random.default_rng(3).random((60, 1, 3))
    broken = {}
    for scale in (0.0, 0.2, 1.0):
        broken[scale] = 0
        for seed, mean in enumerate(means):
            world = bl.MDP.dense(np.ones((1, 3, 1)), mean, horizon=1, reward_draws="bernoulli")
            run = bl.simulate(
                world,
                base=replace(bl.UCRL2(), scale=scale),
                updater=bl.Active(),
                episodes=400,
                seed=seed,
                rewards=None,
            )
            broken[scale] += run.optimism_broken > 0
    assert broken[1.0] <= 3
    assert broken[0.0] > broken[0.2] > broken[1.0]
