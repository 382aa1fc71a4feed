"""Baselines: random, optimal, a policy that is given, and epsilon-greedy."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.exact.values import optimal_table, policy_table
from belated.learner.bases import BASES, EpsilonGreedy, Fixed, Optimal, UniformRandom
from belated.mdp.play import play
from belated.randomness import EXPLORE, uniform
from random_problems import random_world
from ways import difference
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


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(
    "updater", [bl.Active(), bl.Lazy(2), bl.Lazy("auto"), bl.MultiInstance()], ids=str
)
def test_random_regret_is_the_gap_of_the_uniform_policy_every_time(
    updater: Any, engine: Any
) -> None:
    world = a_world()
    uniform_policy = np.full(world.shape.table, 1 / 3)
    gap = bl.optimal_value(world) - dense_value(world, uniform_policy)[1]
    assert gap > 0.1
    run = simulate(world, UniformRandom(), updater=updater, engine=engine)
    assert run.regret == pytest.approx(gap * np.arange(1, EPISODES + 1), rel=1e-12)


def test_random_regret_on_the_chain_is_as_published() -> None:
    """V* - V^uniform = 0.4096 - 0.0256 on the chain of five."""
    run = simulate(bl.chain(5), UniformRandom())
    assert run.total_regret == pytest.approx(EPISODES * (0.4096 - 0.0256), rel=1e-12)


def test_random_takes_every_action_equally_often() -> None:
    world = bl.MDP.dense(np.ones((1, 3, 1)), np.zeros((1, 3)), horizon=2)
    learner = bl.Learner(
        world.shape, base=UniformRandom(), updater=bl.Active(), rewards=None, episodes=10
    )
    taken = np.zeros((2, 3), np.int64)
    for k in range(1, 2001):
        episode = play(world, learner.policy, seed=0, episode=k)
        taken[np.arange(2), episode.actions] += 1
    assert taken == pytest.approx(2000 / 3, abs=4 * math.sqrt(2000 * 2 / 9))


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


@pytest.mark.parametrize("stages", ["each", "pooled"])
def test_a_fixed_policy_is_played_for_ever(stages: Any) -> None:
    world = a_world()
    actions = np.random.default_rng(2).integers(0, 3, (4, 4))
    run = simulate(world, Fixed(actions=actions), stages=stages, updater=bl.Lazy(1))
    assert (run.policies == actions).all()
    gap = optimal_table(world)[0, 1] - policy_table(world, actions)[0, 1]
    assert run.regret == pytest.approx(gap * np.arange(1, EPISODES + 1), rel=1e-12)


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


def test_epsilon_is_how_often_an_action_is_drawn() -> None:
    world = a_world(4)
    learner = bl.Learner(
        world.shape, base=EpsilonGreedy(epsilon=0.4), updater=bl.Active(), rewards=None, episodes=10
    )
    strayed = 0
    for k in range(1, 2001):
        episode = play(world, learner.policy, seed=0, episode=k)
        greedy = learner.policy.actions[np.arange(4), episode.states[:-1]]
        strayed += int((episode.actions != greedy).sum())
    expected = 8000 * 0.4 * 2 / 3
    assert strayed == pytest.approx(expected, abs=4 * math.sqrt(expected))


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


def test_under_explicit_exploration_epsilon_begins_where_that_ends() -> None:
    world = a_world(6)
    learner = bl.Learner(
        world.shape,
        base=EpsilonGreedy(epsilon=0.25),
        updater=bl.ExplicitExploration(threshold=20),
        rewards=None,
        episodes=400,
    )
    left = {"some": 0, "none": 0}
    for k in range(1, 400):
        policy = learner.start(k)
        assert policy.epsilon == 0.25
        assert policy.explore is not None
        weights = policy.probabilities(3)
        marked: Any = policy.explore.any(axis=2)
        assert weights[marked] == pytest.approx(1 / 3)  # every action is marked where one is
        greedy = np.eye(3)[policy.actions]
        assert weights[~marked] == pytest.approx((0.75 * greedy + 0.25 / 3)[~marked])
        left["some" if marked.any() else "none"] += 1
        assert bl.policy_value(world, policy) == pytest.approx(dense_value(world, weights)[1])
        # and it plays what it says
        episode = play(world, policy, seed=0, episode=k)
        for h, s in enumerate(episode.states[:-1]):
            u = uniform(0, EXPLORE, k, h)
            if marked[h, s]:
                assert episode.actions[h] == int(3 * u)
            elif u >= 0.25:
                assert episode.actions[h] == policy.actions[h, s]
        learner.observe([episode])
    assert min(left.values()) > 20


def test_drawing_is_not_exploring_in_a_run() -> None:
    """`last_explored` is of explicit exploration; epsilon never ends."""
    world = a_world(7)
    assert simulate(world, UniformRandom()).last_explored == 0
    explicit = bl.ExplicitExploration(threshold=2)
    run = simulate(world, EpsilonGreedy(epsilon=0.2), updater=explicit)
    assert 0 < run.last_explored < EPISODES
    assert (run.policies[run.last_explored :] >= 0).all()


def test_baselines_give_regret_a_scale() -> None:
    """On a world with coins for rewards, a learner lies between the best and the blind."""
    world = a_world(8, reward_draws="bernoulli")
    bases = (Optimal(), bl.UCRL2(scale=0.05), UniformRandom())
    regrets = [
        simulate(world, base, episodes=1500, rewards=None, every=1500).total_regret
        for base in bases
    ]
    for less, more in itertools.pairwise(regrets):
        assert less < 0.7 * more


def test_one_seed_meets_every_baseline_with_the_same_delays() -> None:
    world = a_world(9)
    runs = [simulate(world, base) for base in (Optimal(), UniformRandom(), EpsilonGreedy())]
    assert len({(run.missing, run.mean_delay, run.longest_delay) for run in runs}) == 1
    assert difference(runs[0], runs[1]) is not None


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, math.nan])
def test_an_epsilon_that_is_no_probability_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=rf"^epsilon must lie in \[0, 1\], got {epsilon}\.$"):
        EpsilonGreedy(epsilon=epsilon)


@pytest.mark.parametrize("base", [bl.PSRL, EpsilonGreedy, UniformRandom, Fixed, Optimal])
@pytest.mark.parametrize("option", [{"delta": 0.1}, {"scale": 2.0}, {"monotone": True}])
def test_a_base_without_bonuses_does_not_accept_their_options(base: Any, option: Any) -> None:
    with pytest.raises(TypeError, match=next(iter(option))):
        base(**option)


def test_every_baseline_has_a_name() -> None:
    names = {EpsilonGreedy: "epsilon-greedy", UniformRandom: "random", Optimal: "optimal"}
    for base, name in {**names, Fixed: "fixed"}.items():
        assert BASES[name] is base
