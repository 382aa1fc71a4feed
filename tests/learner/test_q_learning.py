"""Q-learning: updates by hand without delay, and a known order with it."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.mdp.play import play
from worlds import random_world

EPISODES = 150
RANGES = ("H", "H-h+1")


def a_world(seed: int, draws: Any = "deterministic") -> bl.MDP:
    world = random_world(
        np.random.default_rng(seed), states=3, actions=3, horizon=4, homogeneous=False
    )
    return dataclasses.replace(world, reward_draws=draws)


def q_of(learner: bl.Learner) -> Any:
    return learner.snapshot()["instances"][0]["table"]["q"].reshape(learner.shape.table)


def v_of(learner: bl.Learner) -> Any:
    return learner.snapshot()["instances"][0]["table"]["v"]


# Without delay


def test_three_updates_by_hand() -> None:
    """One state, one action, two steps, rewards 1/2, c sqrt(H^3 log / t) = sqrt(1 / t).

    t = 1: alpha = 3/3 = 1      Q_2 = 1/2 + 1 = 3/2              Q_1 = 1/2 + V_2 + 1 = 7/2
    t = 2: alpha = 3/4          Q_2 = 3/8 + 3/4 (1/2 + 1/sqrt 2) = 1.2803300858899107
    """
    K = 10
    scale = 1 / math.sqrt(8 * math.log(1 * 1 * 2 * K / 0.05))
    learner = bl.Learner(
        bl.Shape(1, 1, 2),
        base=bl.QLearning(scale=scale),
        updater=bl.Active(),
        rewards=[[0.5]],
        episodes=K,
    )
    assert v_of(learner)[:, 0].tolist() == [2, 2, 0]
    learner.observe([bl.Episode(1, [0, 0, 0], [0, 0])])
    # step 1 learns from V_2 = 2 as it was, before step 2 lowers it
    assert q_of(learner)[:, 0, 0] == pytest.approx([3.5, 1.5], abs=1e-12)
    assert v_of(learner)[:, 0] == pytest.approx([2, 1.5, 0], abs=1e-12)
    learner.observe([bl.Episode(2, [0, 0, 0], [0, 0])])
    second = 0.375 + 0.75 * (0.5 + math.sqrt(0.5))
    first = 0.25 * 3.5 + 0.75 * (0.5 + 1.5 + math.sqrt(0.5))
    assert q_of(learner)[:, 0, 0] == pytest.approx([first, second], abs=1e-12)
    assert second == pytest.approx(1.2803300858899107, abs=1e-15)


# With delay


def two_episodes() -> tuple[bl.Learner, list[bl.Episode]]:
    learner = bl.Learner(
        bl.Shape(2, 2, 2),
        base=bl.QLearning(scale=0.01),
        updater=bl.Active(),
        rewards=None,
        episodes=10,
    )
    return learner, [
        bl.Episode(1, [0, 1, 0], [0, 0], [0.0, 1.0]),
        bl.Episode(2, [0, 1, 1], [0, 0], [1.0, 0.0]),
    ]


def test_the_order_of_arrivals_matters_and_that_of_calls_does_not() -> None:
    made = []
    for order, calls in (((0, 1), 1), ((0, 1), 2), ((1, 0), 1), ((1, 0), 2)):
        learner, episodes = two_episodes()
        batch = [episodes[i] for i in order]
        for part in [batch] if calls == 1 else [[e] for e in batch]:
            learner.observe(part)
        made.append(q_of(learner))
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[2], made[3])
    assert (made[0] != made[2]).any()


def test_known_rewards_are_learnt_as_they_are_known() -> None:
    """Known rewards are used; those in the feedback are ignored."""
    made = []
    for rewards in (None, [0.9, 0.9]):
        learner = bl.Learner(
            bl.Shape(2, 2, 2),
            base=bl.QLearning(),
            updater=bl.Active(),
            rewards=[[0.1, 0.2], [0.3, 0.4]],
            episodes=10,
        )
        learner.observe([bl.Episode(1, [0, 1, 0], [0, 1], rewards)])
        made.append(q_of(learner))
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("most", RANGES)
def test_it_starts_as_high_as_it_can_and_values_stay_there_or_below(most: Any) -> None:
    world = a_world(20)
    learner = bl.Learner(
        world.shape,
        base=bl.QLearning(range=most),
        updater=bl.Active(),
        rewards=world.reward_table(),
        episodes=EPISODES,
    )
    caps = [4, 4, 4, 4] if most == "H" else [4, 3, 2, 1]
    assert q_of(learner)[:, 0, 0].tolist() == caps
    for k in range(1, 40):
        learner.observe([play(world, learner.start(k), seed=1, episode=k)])
        assert (v_of(learner)[:-1] <= np.array(caps)[:, None]).all()
    assert (q_of(learner) > np.array(caps)[:, None, None]).any()  # Q is not cut, V is


def test_counts_alone_are_refused() -> None:
    nothing = np.zeros((2, 2, 2, 2))
    with pytest.raises(
        ValueError,
        match=r"^base must plan from counts, but q-learning learns from single steps\.$",
    ):
        bl.plan(bl.QLearning(), nothing.sum(axis=3), nothing, np.zeros((2, 2)), episodes=10)
