"""Training in an environment agrees with simulation."""

import gymnasium
import numpy as np
import pytest

import belated as bl
from belated.delays import constant, geometric
from belated.gym import DelayedFeedback, WorldEnv, train
from belated.mdp.classics import deep_sea
from belated.mdp.gymnasium import from_gymnasium

LAKE = "FrozenLake-v1"


def learner_of(world, *, updater=None, episodes=100, stages="each", base=None):
    return bl.Learner(
        world.shape,
        base=base or bl.UCRL2(scale=0.05),
        updater=updater or bl.Active(),
        rewards=world.reward_table(),
        episodes=episodes,
        stages=stages,
    )


@pytest.mark.parametrize(
    "updater",
    [
        bl.Active(),
        bl.Lazy(2),
        bl.MultiInstance(),
        bl.ExplicitExploration(threshold=3),
    ],
    ids=lambda updater: type(updater).__name__,
)
def test_in_a_world_without_noise_training_is_simulation_to_the_bit(updater):
    world, law = deep_sea(5), geometric(4)
    run = bl.simulate(
        world,
        base=bl.UCRL2(scale=0.05),
        updater=updater,
        delay=law,
        episodes=100,
        seed=11,
        every=1,
    )
    env = DelayedFeedback(WorldEnv(world), law, seed=11)
    training = train(env, learner_of(world, updater=updater), episodes=100, seed=11, world=world)
    np.testing.assert_array_equal(training.regret, run.regret)
    assert (training.updates, training.max_missing) == (run.updates, run.max_missing)


def test_a_lake_is_learned_by_stepping_it_alone_with_feedback_that_comes_late():
    world = from_gymnasium(LAKE, horizon=20)
    env = DelayedFeedback(gymnasium.make(LAKE), geometric(50), horizon=20)
    learner = learner_of(world, episodes=3000, stages="pooled")
    training = train(env, learner, episodes=3000, world=world)
    run = bl.simulate(
        world,
        base=bl.UCRL2(scale=0.05),
        updater=bl.Active(),
        delay=geometric(50),
        episodes=3000,
        stages="pooled",
    )
    first, last = training.returns[:200].mean(), training.returns[-500:].mean()
    assert last > first + 0.05
    assert last == pytest.approx(bl.optimal_value(world), abs=0.04)
    assert training.regret[-1] == pytest.approx(run.total_regret, rel=0.3)
    assert training.max_missing == run.max_missing


def test_a_training_can_be_repeated_and_continued():
    def parts(*lengths):
        world = bl.chain(4)
        env = DelayedFeedback(WorldEnv(world), geometric(3))
        learner = learner_of(world)
        return [
            train(env, learner, episodes=length, seed=None if j else 7)
            for j, length in enumerate(lengths)
        ]

    (whole,) = parts(60)
    first, second = parts(25, 35)
    np.testing.assert_array_equal(np.append(first.returns, second.returns), whole.returns)
    np.testing.assert_array_equal(np.append(first.episode, second.episode), np.arange(1, 61))
    assert first.updates + second.updates == whole.updates


def test_without_the_world_there_are_returns_and_no_regret():
    world = bl.chain(3)
    env = DelayedFeedback(WorldEnv(world), constant(1))
    training = train(env, learner_of(world), episodes=5)
    assert training.returns.size == 5
    assert repr(training).startswith("Training(episodes=5, mean_return=")
    with pytest.raises(ValueError, match=r"^regret needs exact values; give train world="):
        _ = training.regret


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda env, learner: train(env.env, learner, episodes=1),
            TypeError,
            r"^env must be a DelayedFeedback\(env, delay\), got .*\.$",
        ),
        (
            lambda env, learner: train(env, learner_of(bl.chain(4)), episodes=1),
            ValueError,
            r"^The learner must have Shape\(.*3.*\), got Shape\(.*4.*\)\.$",
        ),
    ],
)
def test_arguments_that_do_not_match_raise_an_error(make, kind, message):
    env = DelayedFeedback(WorldEnv(bl.chain(3)), constant(0))
    with pytest.raises(kind, match=message):
        make(env, learner_of(bl.chain(3)))
