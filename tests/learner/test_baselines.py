"""Baselines: random, optimal, a policy that is given, and epsilon-greedy."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.learner.bases import EpsilonGreedy, Fixed, Optimal, UniformRandom
from random_problems import random_world
from worlds import worlds

EPISODES = 80


def a_world(seed: int = 0, **options: Any) -> bl.MDP:
    """Every state may be reached from every other, and everything pays; it starts in state 1."""
    world = random_world(np.random.default_rng(seed), bl.Shape(4, 3, 4))
    return bl.MDP.dense(world.transition_table(), world.reward_table(), start=1, **options)


def simulate(world: bl.MDP, base: bl.Base, **options: Any) -> Any:
    return bl.simulate(
        world,
        **{
            "base": base,
            "updater": bl.Active(),
            "delay": bl.delays.geometric(3),
            "episodes": EPISODES,
            "every": 1,
            "trace": True,
            **options,
        },
    )


def dense_value(world: bl.MDP, probabilities: Any) -> Any:
    """V_1 of a policy given as probabilities, by matrix products."""
    p, r = world.transition_table(), world.reward_table()
    v = np.zeros(world.shape.states)
    for h in reversed(range(world.shape.horizon)):
        q = r[h] + p[h] @ v
        v = (probabilities[h] * q).sum(axis=1)
    return v


# Random


def test_random_regret_on_the_chain_is_as_published() -> None:
    """V* - V^uniform = 0.4096 - 0.0256 on the chain of five."""
    run = simulate(bl.chain(5), UniformRandom())
    assert run.total_regret == pytest.approx(EPISODES * (0.4096 - 0.0256), rel=1e-12)


# Optimal and fixed


@given(worlds(), st.sampled_from(["everything", "rewards"]), st.sampled_from(["episode", "step"]))
def test_optimal_regret_is_zero(world: bl.MDP, late: str, per: str) -> None:
    run = simulate(world, Optimal(), episodes=20, rewards=None, late=late, delay_per=per)
    assert abs(run.regret).max() < 1e-12
    assert run.optimism_broken == 0
    assert len(np.unique(run.policies, axis=0)) == 1


def test_the_optimal_policy_is_known_in_a_simulation_only() -> None:
    with pytest.raises(
        ValueError, match=r"^Optimal needs the world, which only a simulation knows; .*"
    ):
        bl.Learner(
            bl.Shape(2, 2, 2), base=Optimal(), updater=bl.Active(), rewards=None, episodes=10
        )


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"^actions must be integers of shape \(H, S\), .*, got an array of shape "),
        ([[0.5]], r"^actions must be integers of shape \(H, S\), .*, got an array of shape "),
        ((), r"^actions must be integers of shape \(H, S\), .*, got an array of shape "),
        ([[0, 0]], r"^actions must have shape \(H, S\) = \(2, 2\), got \(1, 2\)\.$"),
        ([[0, 2], [0, 0]], r"^actions must lie in 0 \.\. 1, got 2\.$"),
        ([[0, -1], [1, 1]], r"^actions must lie in 0 \.\. 1, got -1\.$"),
    ],
)
def test_a_fixed_policy_that_cannot_be_played_is_refused(actions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bl.Learner(
            bl.Shape(2, 2, 2),
            base=Fixed(actions=actions),
            updater=bl.Active(),
            rewards=None,
            episodes=10,
        )


def test_a_fixed_policy_can_be_compared_hashed_and_restored() -> None:
    one, other = Fixed(actions=np.eye(2, dtype=int)), Fixed(actions=[[1, 0], [0, 1]])
    assert one == other
    assert hash(one) == hash(other)
    learner = bl.Learner(
        bl.Shape(2, 2, 2), base=one, updater=bl.Active(), rewards=None, episodes=10
    )
    again = bl.Learner.restore(learner.snapshot())
    assert again.policy.actions.tolist() == [[1, 0], [0, 1]]


# Epsilon-greedy


@pytest.mark.plain
def test_the_value_of_a_mixture_is_what_its_probabilities_give() -> None:
    world = a_world(3)
    run = simulate(world, EpsilonGreedy(epsilon=0.3), episodes=30, rewards=None)
    best = bl.optimal_value(world)
    gaps = []
    for actions in run.policies:
        policy = bl.Policy(actions, np.zeros(world.shape.table, bool), 0.3)
        weights = policy.probabilities(3)
        assert weights.sum(axis=2) == pytest.approx(1)
        assert weights.min() == pytest.approx(0.1)
        gaps.append(best - dense_value(world, weights)[1])
        assert bl.policy_value(world, policy) == pytest.approx(best - gaps[-1], abs=1e-12)
    assert run.regret == pytest.approx(np.cumsum(gaps), abs=1e-12)
    assert len(np.unique(run.policies, axis=0)) > 3


@given(st.floats(1e-9, 1), st.integers(1, 7), st.integers(0, 2**53 - 1))
def test_a_drawn_action_is_one_that_exists(epsilon: float, actions: int, bits: int) -> None:
    u = bits / 2**53
    nowhere = np.zeros((1, 1, actions), bool)
    policy = bl.Policy(np.zeros((1, 1), np.int32), nowhere, epsilon)
    for near in (u, math.nextafter(epsilon, 0), math.nextafter(1.0, 0)):
        assert 0 <= policy.action(0, 0, near) < actions


def test_epsilon_of_zero_is_greedy_and_of_one_is_random() -> None:
    world = a_world(5)
    assert bl.Learner(
        world.shape, base=EpsilonGreedy(epsilon=0), updater=bl.Active(), rewards=None, episodes=9
    ).policy == bl.Policy(np.zeros((4, 4), np.int32))
    one = simulate(world, EpsilonGreedy(epsilon=1))
    other = simulate(world, UniformRandom())
    assert one.regret == pytest.approx(other.regret, rel=1e-12)
    np.testing.assert_array_equal(one.in_flight, other.in_flight)


def test_what_was_never_seen_is_worth_nothing() -> None:
    """Greedy for r^ + <P^, V>, worked out by hand."""
    learner = bl.Learner(
        bl.Shape(2, 2, 2),
        base=EpsilonGreedy(epsilon=0.1),
        updater=bl.Active(),
        rewards=None,
        episodes=10,
    )
    assert learner.value.tolist() == [0, 0]
    learner.observe(
        [
            bl.Episode(1, [0, 1, 0], [1, 1], [0.25, 0.5]),
            bl.Episode(2, [0, 0, 0], [1, 0], [0.75, 1.0]),
        ]
    )
    # Q_2(0, 0) = 1, Q_2(1, 1) = 1/2; Q_1(0, 1) = 1/2 + (1/2 + 1) / 2, and nothing else is known
    assert learner.value.tolist() == [1.25, 0]
    assert learner.policy.actions.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, math.nan])
def test_an_epsilon_that_is_no_probability_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=rf"^epsilon must lie in \[0, 1\], got {epsilon}\.$"):
        EpsilonGreedy(epsilon=epsilon)


@pytest.mark.parametrize("base", [bl.PSRL, EpsilonGreedy, UniformRandom, Fixed, Optimal])
@pytest.mark.parametrize("option", [{"delta": 0.1}, {"scale": 2.0}, {"monotone": True}])
def test_a_base_without_bonuses_does_not_accept_their_options(base: Any, option: Any) -> None:
    with pytest.raises(TypeError, match=next(iter(option))):
        base(**option)
