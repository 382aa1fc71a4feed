"""Q-learning: the textbook's algorithm without delay, and a known order with it."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.planning.loops import loops_of
from belated.learner.problem import LearningProblem
from belated.learner.state import LearnerRecord, configure, empty_state, with_room_for
from belated.learner.updating import absorb
from belated.mdp.play import play
from worlds import random_world

EPISODES = 150
BONUSES = ("hoeffding", "bernstein")
RANGES = ("H", "H-h+1")


class Textbook:
    """Jin, Allen-Zhu, Bubeck and Jordan 2018, Algorithms 1 and 2: one update after another."""

    def __init__(self, shape: bl.Shape, bonus: str, most: str, c: float, p: float = 0.05) -> None:
        H, S, A = shape.table
        self.H, self.S, self.A, self.c, self.bonus = H, S, A, c, bonus
        self.iota = math.log(S * A * H * EPISODES / p)
        self.cap = [float(H if most == "H" else H - h) for h in range(H)]
        self.Q = [[[cap] * A for _ in range(S)] for cap in self.cap]
        self.V = [[cap] * S for cap in self.cap] + [[0.0] * S]
        self.seen: dict[tuple[int, int, int], list[float]] = {}  # V_{h+1} at the successors
        self.beta: dict[tuple[int, int, int], float] = {}

    def update(self, h: int, s: int, a: int, r: float, y: int) -> None:
        H, c, iota = self.H, self.c, self.iota
        values = self.seen.setdefault((h, s, a), [])
        values.append(self.V[h + 1][y])
        t = len(values)
        alpha = (H + 1) / (H + t)
        wide = math.sqrt(H**3 * iota / t)
        if self.bonus == "hoeffding":
            b = c * wide
        else:
            W = sum(v * v for v in values) / t - (sum(values) / t) ** 2
            narrow = math.sqrt(H * (max(W, 0) + H) * iota / t)
            narrow += math.sqrt(H**7 * self.S * self.A) * iota / t
            beta = min(c * narrow, c * wide)
            b = (beta - (1 - alpha) * self.beta.get((h, s, a), 0.0)) / (2 * alpha)
            self.beta[h, s, a] = beta
        self.Q[h][s][a] = (1 - alpha) * self.Q[h][s][a] + alpha * (r + self.V[h + 1][y] + b)
        self.V[h][s] = min(self.cap[h], max(self.Q[h][s]))

    def greedy(self, h: int, s: int) -> int:
        return int(np.argmax(self.Q[h][s]))

    @property
    def policy(self) -> Any:
        return np.array([[self.greedy(h, s) for s in range(self.S)] for h in range(self.H)])


def a_world(seed: int, draws: Any = "deterministic") -> bl.MDP:
    world = random_world(
        np.random.default_rng(seed), states=3, actions=3, horizon=4, homogeneous=False
    )
    return dataclasses.replace(world, reward_draws=draws)


def every_variant(test: Any) -> Any:
    test = pytest.mark.parametrize("most", RANGES)(test)
    return pytest.mark.parametrize("bonus", BONUSES)(test)


def q_of(learner: bl.Learner) -> Any:
    return learner.snapshot()["instances"][0]["table"]["q"].reshape(learner.shape.table)


def v_of(learner: bl.Learner) -> Any:
    return learner.snapshot()["instances"][0]["table"]["v"]


# Without delay


@pytest.mark.plain
@every_variant
def test_without_delay_every_q_and_v_is_the_textbooks(bonus: Any, most: Any) -> None:
    world = a_world(5)
    learner = bl.Learner(
        world.shape,
        base=bl.QLearning(bonus=bonus, range=most, scale=0.1),
        updater=bl.Active(),
        rewards=world.reward_table(),
        episodes=EPISODES,
    )
    book = Textbook(world.shape, bonus, most, 0.1)
    for k in range(1, 60):
        np.testing.assert_allclose(q_of(learner), book.Q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(v_of(learner), book.V, rtol=0, atol=1e-11)
        np.testing.assert_array_equal(learner.value, v_of(learner)[0])
        episode = play(world, learner.start(k), seed=0, episode=k)
        assert episode.rewards is not None
        for h in range(world.shape.horizon):
            assert episode.actions[h] == book.greedy(h, episode.states[h])
            step = episode.states[h], episode.actions[h], episode.rewards[h], episode.states[h + 1]
            book.update(h, *step)
        learner.observe([episode])


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


def test_lazy_keeps_its_q_while_feedback_waits() -> None:
    learner = bl.Learner(
        bl.Shape(1, 2, 1),
        base=bl.QLearning(scale=0.01),
        updater=bl.Lazy(1),
        rewards=[[0.25, 0.5]],
        episodes=100,
    )
    episodes = [bl.Episode(i, [0, 0], [i % 2]) for i in range(40)]
    seen = []
    for e in episodes:
        learner.observe([e])
        seen.append(q_of(learner))
    changes = [i for i in range(1, 40) if (seen[i] != seen[i - 1]).any()]
    # either action doubles at its visits 1, 2, 4, 8, ...; whoever does plans for both
    assert len(changes) <= 12
    eager = bl.Learner(
        bl.Shape(1, 2, 1),
        base=bl.QLearning(scale=0.01),
        updater=bl.Active(),
        rewards=[[0.25, 0.5]],
        episodes=100,
    )
    # what has waited is worked off in the order it came, so nothing is lost or swapped
    eager.observe(episodes[: changes[-1] + 1])
    np.testing.assert_array_equal(q_of(eager), seen[-1])


def test_paths_teach_nothing_before_their_rewards() -> None:
    learner = bl.Learner(
        bl.Shape(2, 2, 2),
        base=bl.QLearning(scale=0.01),
        updater=bl.Active(),
        rewards=None,
        late="rewards",
        episodes=10,
    )
    _, episodes = two_episodes()
    before = q_of(learner)
    assert learner.observe_path(episodes) is False
    np.testing.assert_array_equal(q_of(learner), before)
    learner.observe_rewards({2: [1.0, 0.0]})
    learner.observe_rewards({1: [0.0, 1.0]})
    other, _ = two_episodes()
    other.observe([episodes[1]])
    other.observe([episodes[0]])
    np.testing.assert_array_equal(q_of(learner), q_of(other))


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


def test_optimism_holds() -> None:
    kept = 0
    for seed in range(40):
        run = bl.simulate(
            a_world(seed, "bernoulli"),
            base=bl.QLearning(),
            updater=bl.Active(),
            delay=bl.delays.geometric(4),
            episodes=200,
            seed=seed,
            rewards=None,
        )
        kept += run.optimism_broken == 0
    assert kept >= 38


def test_counts_alone_are_refused() -> None:
    nothing = np.zeros((2, 2, 2, 2))
    with pytest.raises(
        ValueError,
        match=r"^base must plan from counts, but q-learning learns from single steps\.$",
    ):
        bl.plan(bl.QLearning(), nothing.sum(axis=3), nothing, np.zeros((2, 2)), episodes=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bonus": "ucb"}, r"^bonus must be one of 'hoeffding', 'bernstein', got 'ucb'\.$"),
        ({"range": "h"}, r"^range must be one of 'H', 'H-h\+1', got 'h'\."),
        ({"monotone": True}, r"^monotone must be False: .*\.$"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bl.QLearning(**options)


# The queue of steps to learn


@pytest.mark.plain
def test_feedback_fills_the_queue_up_to_its_room_and_goes_on_after_it_has_grown() -> None:
    rng = np.random.default_rng(5)
    problem = LearningProblem(
        shape=bl.Shape(2, 2, 2),
        base=bl.QLearning(),
        updater=bl.Lazy(1),
        rewards=None,
        episodes=50,
    )
    record = LearnerRecord(configure(problem, 0), empty_state(problem))
    loops = loops_of(problem.backup_rule, record)
    feedback = steps, states, actions, successors = rng.integers(0, 2, (4, 40))
    rewards = rng.random(40)
    done, sizes = 0, [len(record.state.own.queue)]
    while done < 40:
        more = absorb(loops, record, done, *feedback, rewards, True, True)
        if more < 40:
            assert more == record.state.own.queued[0]
            record = record._replace(state=with_room_for(record.state, 1))
            sizes.append(len(record.state.own.queue))
        done = more
    assert sizes == sorted(set(sizes))
    assert sizes[-1] < 2 * 40 + 2
    assert record.state.own.queued[0] == 40
    rows = (steps * 2 + states) * 2 + actions
    expected = np.stack([rows, successors, rewards], axis=1)
    np.testing.assert_array_equal(record.state.own.queue[:40], expected)
    assert record.state.counts.n.sum() == 40
