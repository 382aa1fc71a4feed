"""Lazy("auto"): each epoch takes the alpha for the mean delay observed when it begins."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases import UniformRandom
from belated.theory import best_alpha
from random_problems import random_episodes

SHAPE = bl.Shape(2, 2, 2)
H, S, A = SHAPE.table
EPISODES = 3000  # enough of them for an alpha that is neither 1 nor infinite


def make(base: bl.Base | None = None, **options: Any) -> bl.Learner:
    return bl.Learner(
        SHAPE,
        base=base or bl.UCBVI_BF(scale=0.05),
        updater=bl.Lazy("auto"),
        rewards=options.pop("rewards", np.zeros((S, A))),
        episodes=EPISODES,
        **options,
    )


def expected(
    mean_delay: float, base: str = "ucbvi-bf", delta: float = 0.05, scale: float = 0.05
) -> float:
    return best_alpha(
        SHAPE, episodes=EPISODES, mean_delay=mean_delay, base=base, delta=delta, scale=scale
    )


def test_the_first_epoch_knows_of_no_delay() -> None:
    assert make().alpha == expected(0.0)
    assert make(bl.UCRL2(delta=0.3)).alpha == expected(0.0, "ucrl2", 0.3, scale=1.0)


def test_alpha_is_that_of_the_scaled_bonus() -> None:
    wide, narrow = (make(bl.UCRL2(scale=scale)).alpha for scale in (1.0, 0.1))
    assert wide == expected(0.0, "ucrl2", scale=1.0)
    assert narrow == expected(0.0, "ucrl2", scale=0.1) < wide
    run = {"updater": bl.Lazy("auto"), "episodes": 300, "delay": bl.delays.geometric(5)}
    for engine in ("compiled", "reference"):
        done = bl.simulate(bl.chain(2), base=bl.UCRL2(scale=0.1), engine=engine, **run)
        assert done.alpha is not None
        assert done.alpha[0] == best_alpha(
            bl.chain(2).shape, episodes=300, mean_delay=0.0, base="ucrl2", scale=0.1
        )


def test_alpha_changes_when_an_epoch_begins_and_only_then() -> None:
    learner = make()
    epochs, alpha, seen = learner.epochs, learner.alpha, []
    episodes = iter(random_episodes(np.random.default_rng(1), SHAPE, 400))
    away: list[bl.Episode] = []
    for _ in range(300):
        mean = learner.mean_delay
        if len(away) > 8:
            learner.observe([away.pop(0)])
        if learner.epochs > epochs:
            epochs, alpha = learner.epochs, expected(mean)
            seen.append(alpha)
        assert learner.alpha == alpha
        episode = next(episodes)
        learner.start(episode.id)
        away.append(episode)
        assert learner.alpha == alpha
    # the observed delay rises to 8.x, and the alphas fall
    assert 7 < learner.mean_delay < 9
    assert len(set(seen)) > 20
    assert seen == sorted(seen, reverse=True)
    # many an arrival came within an epoch, and changed nothing
    assert 30 < learner.updates < 200


def test_those_in_flight_count_as_late_as_they_are() -> None:
    """Nothing has come back but one episode, yet the delay is not taken for zero."""
    learner = make()
    for id in range(1, 41):
        learner.start(id)
    learner.observe([bl.Episode(40, [0, 1, 0], [0, 0])])
    assert learner.alpha == expected(sum(range(40)) / 40)


def test_a_learner_that_is_not_told_of_beginnings_takes_the_delay_for_zero() -> None:
    learner = make()
    for e in random_episodes(np.random.default_rng(3), SHAPE, 20):
        learner.observe([e])
        assert learner.alpha == expected(0.0)
    assert learner.updates > 1


def test_where_only_rewards_are_late_an_epoch_is_one_of_rewards() -> None:
    learner = make(rewards=None, late="rewards")
    episodes = random_episodes(np.random.default_rng(4), SHAPE, 40)
    first = learner.alpha
    for e in episodes:
        learner.start(e.id)
        learner.observe_path([e])
        assert learner.alpha == first  # it plans, but no rewards have come
    assert learner.updates == 40
    mean = learner.mean_delay
    learner.observe_rewards({1: [0.5, 0.5]})
    assert learner.alpha == expected(mean) < first


@pytest.mark.parametrize("base", [bl.PSRL(), bl.QLearning(), UniformRandom()], ids=lambda b: b.name)
def test_a_base_without_a_bound_takes_the_alpha_of_the_widest(base: bl.Base) -> None:
    assert make(base).alpha == expected(0.0, "ucbvi-ch", scale=1.0)
