"""Posterior sampling: gamma variables, Dirichlet rows, Beta rewards, and when a world is drawn."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import belated as bl
from belated.learner.updaters import Updater
from belated.randomness import POSTERIOR, gamma
from random_problems import random_episodes
from ways import difference
from worlds import random_world

# Some learners here observe more episodes than they are told of.
pytestmark = pytest.mark.filterwarnings("ignore:Episode .* of a learner with episodes=")

UNLIKELY = 1e-3  # a p-value that a fixed seed should not fall below
DRAWS = 4000


# Gamma variables


@pytest.mark.parametrize("shape", [0.01, 0.3, 0.999, 1.0, 1.5, 7.0, 300.0])
@pytest.mark.parametrize("along", ["plan", "cell"])
def test_gamma_variables_have_their_law(shape: float, along: str) -> None:
    key = np.uint64(11)
    drawn = np.array(
        [
            gamma(key, POSTERIOR, i if along == "plan" else 5, i if along == "cell" else 5, shape)
            for i in range(DRAWS)
        ]
    )
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > UNLIKELY
    error = math.sqrt(shape / DRAWS)
    assert drawn.mean() == pytest.approx(shape, abs=4 * error)
    # the variance of a sample variance: (mu_4 - var^2) / n, with mu_4 = 3 shape^2 + 6 shape
    assert drawn.var() == pytest.approx(shape, abs=4 * math.sqrt((2 * shape + 6) * shape / DRAWS))
    assert (drawn >= 0).all()


def test_the_law_would_notice_a_shape_a_tenth_off() -> None:
    key = np.uint64(11)
    for shape in (0.3, 7.0):
        drawn = [gamma(key, POSTERIOR, i, 0, shape) for i in range(DRAWS)]
        assert stats.kstest(drawn, stats.gamma(1.1 * shape).cdf).pvalue < UNLIKELY


# Rows


def rows(prior: float, m: Any, worth: Any, draws: int) -> Any:
    """<p, worth> of the rows (0, s, 0), with counts m[s], in each of the plans of one learner.

    Two steps: the second pays what its state is worth, so V_1 = <p, worth>.
    """
    S = len(worth)
    rewards = np.stack([np.zeros((S, 1)), np.array(worth, float)[:, None]])
    learner = bl.Learner(
        bl.Shape(S, 1, 2),
        base=bl.PSRL(prior=prior, resample="episode"),
        updater=bl.Active(),
        rewards=rewards,
        episodes=10,
        seed=17,
    )
    pairs = [(s, y) for s in range(S) for y in range(S) for _ in range(m[s][y])]
    learner.observe([bl.Episode(i, [s, y, 0], [0, 0]) for i, (s, y) in enumerate(pairs)])
    drawn = []
    for id in range(draws):
        drawn.append(learner.value)
        learner.start(10**6 + id)
    return np.array(drawn)


@pytest.mark.parametrize("prior", [0.05, 1.0, 2.5])
def test_a_row_is_a_dirichlet_of_its_counts_and_the_prior(prior: float) -> None:
    """Each coordinate of Dirichlet(a) is Beta(a_y, a_0 - a_y)."""
    m = [[0, 0, 0], [3, 0, 9], [1, 1, 40]]
    for y in range(3):
        drawn = rows(prior, m, np.eye(3)[y], 600)
        for s in range(3):
            a = prior + np.array(m[s])
            law = stats.beta(a[y], a.sum() - a[y])
            assert stats.kstest(drawn[:, s], law.cdf).pvalue > UNLIKELY
            assert drawn[:, s].mean() == pytest.approx(law.mean(), abs=4 * law.std() / 600**0.5)


def test_the_coordinates_of_a_row_belong_together() -> None:
    """Var <p, v> = (E v^2 - (E v)^2) / (a_0 + 1) under Dirichlet(a), with E by a / a_0."""
    worth = np.array([0.1, 0.5, 1.0])
    m = [[0, 0, 0], [3, 0, 9], [1, 1, 40]]
    drawn = rows(1.0, m, worth, 1500)
    for s in range(3):
        a = 1.0 + np.array(m[s])
        p = a / a.sum()
        mean = p @ worth
        variance = (p @ worth**2 - mean * mean) / (a.sum() + 1)
        assert drawn[:, s].mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / 1500))
        assert drawn[:, s].var() == pytest.approx(variance, rel=0.15)
    # and rows are drawn apart
    assert abs(np.corrcoef(drawn.T)[np.triu_indices(3, 1)]).max() < 4 / math.sqrt(1500)


# Rewards


def test_an_unknown_reward_is_drawn_from_its_beta_posterior() -> None:
    """One state, one step, two actions: Q is the draw itself; V is the larger of the two."""
    rewards = ([1, 0, 1, 1, 0.5, 0.25], [0.0, 0.75])
    learner = bl.Learner(
        bl.Shape(1, 2, 1),
        base=bl.PSRL(resample="episode"),
        updater=bl.Active(),
        rewards=None,
        episodes=10,
    )
    learner.observe(
        [
            bl.Episode(100 * a + i, [0, 0], [a], [reward])
            for a, paid in enumerate(rewards)
            for i, reward in enumerate(paid)
        ]
    )
    drawn = []
    for id in range(2000):
        drawn.append(learner.value[0])
        learner.start(10**6 + id)
    laws = [stats.beta(1 + sum(paid), 1 + len(paid) - sum(paid)) for paid in rewards]
    result = stats.kstest(drawn, lambda x: laws[0].cdf(x) * laws[1].cdf(x))
    assert result.pvalue > UNLIKELY


# When a world, or the noise of RLSVI, is drawn

SAMPLING = [bl.PSRL, bl.RLSVI]


def make(resample: Any, updater: Updater, **options: Any) -> bl.Learner:
    return bl.Learner(
        bl.Shape(4, 3, 4),
        base=bl.PSRL(resample=resample),
        updater=updater,
        rewards=np.random.default_rng(4).random((4, 3)),
        episodes=100,
        **options,
    )


def plays(learner: bl.Learner, ids: Any) -> list[bytes]:
    return [learner.start(id).actions.tobytes() for id in ids]


def test_update_keeps_its_policy_while_nothing_arrives() -> None:
    learner = make("update", bl.Active())
    episodes = random_episodes(np.random.default_rng(5), learner.shape, 8)
    for e in episodes:
        assert len({*plays(learner, range(100 * e.id, 100 * e.id + 6))}) == 1
        before = learner.updates
        learner.observe([e])
        assert learner.updates == before + 1
    assert learner.updates == 8


def test_episode_draws_for_every_episode() -> None:
    learner = make("episode", bl.Active())
    played = plays(learner, range(1, 21))
    assert len({*played}) > 10
    assert learner.epochs == 20  # the policy after the last is drawn when it is asked for
    first = learner.policy.actions.tobytes()
    assert learner.policy.actions.tobytes() == first == plays(learner, [21])[0]
    assert learner.epochs == 21


def test_an_arrival_and_an_episode_draw_once_between_them() -> None:
    learner = make("episode", bl.Active())
    for e in random_episodes(np.random.default_rng(6), learner.shape, 10):
        learner.start(e.id)
        learner.observe([e])
    assert learner.updates == 10


def test_episode_draws_from_all_that_has_come_back_even_if_the_updater_waits() -> None:
    """Lazy(1) does not ask for a plan when 8 observations become 15."""
    planned_from = {}
    resample: Any
    for resample in ("episode", "update"):
        learner = bl.Learner(
            bl.Shape(2, 1, 2),
            base=bl.PSRL(resample=resample),
            updater=bl.Lazy(1),
            rewards=[[0], [1]],
            episodes=20,
        )
        episodes = [bl.Episode(i, [0, 1, 1], [0, 0]) for i in range(1, 16)]
        learner.observe(episodes[:8])
        learner.observe(episodes[8:])
        learner.start(100)
        assert learner.policy is not None  # drawn when it is asked for
        planned_from[resample] = learner.snapshot()["instances"][0]["epoch_counts"][0]
    assert planned_from == {"update": 8, "episode": 15}


@pytest.mark.parametrize("base", SAMPLING)
@pytest.mark.parametrize(
    ("updater", "same"),
    [
        (bl.Active(), "episode"),
        (bl.ExplicitExploration(threshold=3), "episode"),
        (bl.Lazy(2), "update"),
        (bl.Lazy("auto"), "update"),
        (bl.MultiInstance(), "update"),
        (bl.MultiInstance(), "episode"),
    ],
    ids=str,
)
def test_auto_is_episode_except_under_lazy(updater: Updater, same: Any, base: Any) -> None:
    rng = np.random.default_rng(7)
    world = random_world(rng, states=4, actions=3, horizon=4, homogeneous=False)
    runs = [
        bl.simulate(
            world,
            base=base(resample=resample),
            updater=updater,
            delay=bl.delays.geometric(6),
            episodes=60,
            every=1,
            trace=True,
        )
        for resample in ("auto", same)
    ]
    assert difference(*runs) is None
