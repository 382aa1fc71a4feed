"""Q-learning: the textbook's algorithm without delay, and a known order with it."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases.q_learning import (
    QParameters,
    bonus_of,
    empty_inbox,
    empty_memory,
    initialise_values,
    learn,
    post,
    with_inbox_room,
)
from belated.learner.problem import LearningProblem
from belated.learner.state import configure, empty_state, with_room_for
from belated.learner.updating import absorb
from belated.mdp.play import play
from belated.randomness import REWARD, START, TRANSITION, uniform
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


@pytest.mark.parametrize("rewards", ["known", None])
@pytest.mark.parametrize("c", [1.0, 0.02])
@every_variant
def test_without_delay_it_is_the_online_algorithm_step_for_step(
    bonus: Any, most: Any, c: float, rewards: Any
) -> None:
    """The textbook acts and learns within the episode, and meets the same world."""
    for seed in range(3):
        world = a_world(seed, "deterministic" if rewards else "bernoulli")
        table, means = world.transition_table(), world.reward_table()
        run: Any = bl.simulate(
            world,
            base=bl.QLearning(bonus=bonus, range=most, scale=c),
            updater=bl.Active(),
            episodes=EPISODES,
            seed=seed,
            every=1,
            rewards=rewards,
            trace=True,
        )
        book = Textbook(world.shape, bonus, most, c, 0.05 if rewards else 0.025)
        for k in range(1, EPISODES + 1):
            np.testing.assert_array_equal(run.policies[k - 1], book.policy)
            s = int(np.searchsorted(np.cumsum(world.start), uniform(seed, START, k, 0), "right"))
            for h in range(world.shape.horizon):
                a = book.greedy(h, s)
                u = uniform(seed, TRANSITION, k, h)
                y = int(np.searchsorted(np.cumsum(table[h, s, a]), u, "right"))
                r = means[h, s, a]
                if not rewards:
                    r = float(uniform(seed, REWARD, k, h) < r)
                book.update(h, s, a, r, y)
                s = y
        if c < 1:  # with c = 1 the action tried first looks best for longer than this
            assert len(np.unique(run.policies, axis=0)) > 5


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


def expected_policies(
    world: bl.MDP, run: Any, seed: int, delays: Any, *, book: Textbook, alpha: float
) -> list[Any]:
    """Sort all steps of the run by arrival, then episode, then step; work them off when due."""
    H = world.shape.horizon
    made, waiting = [], []
    counts: dict[Any, int] = {}
    epoch: dict[Any, int] = {}
    steps: list[Any] = []
    for k in range(1, EPISODES + 1):
        back = sorted(step for step in steps if step[0] < k)
        steps = [step for step in steps if step[0] >= k]
        due = False
        for _, _, h, s, a, r, y in back:
            waiting.append((h, s, a, r, y))
            counts[h, s, a] = counts.get((h, s, a), 0) + 1
            before = epoch.get((h, s, a), 0)
            due |= alpha * (counts[h, s, a] - before) >= before
        if due:
            for step in waiting:
                book.update(*step)
            waiting, epoch = [], dict(counts)
            made.append(book.policy)
        else:
            made.append(made[-1] if made else book.policy)
        path = play(world, bl.Policy(run.policies[k - 1]), seed=seed, episode=k)
        assert path.rewards is not None
        for h in range(H):
            arrival = k + int(delays[k - 1, h])
            what = (int(path.states[h]), int(path.actions[h]), path.rewards[h])
            steps.append((arrival, k, h, *what, int(path.states[h + 1])))
    return made


@pytest.mark.parametrize("late", ["everything", "rewards"])
@pytest.mark.parametrize("per", ["episode", "step"])
@pytest.mark.parametrize("alpha", [math.inf, 1.0, 2.5], ids=["active", "doubling", "lazy"])
@pytest.mark.parametrize("bonus", BONUSES)
def test_feedback_is_worked_off_by_arrival_then_episode_then_step(
    bonus: Any, alpha: float, per: Any, late: Any
) -> None:
    law = bl.delays.never(0.05, otherwise=bl.delays.geometric(5))
    for seed in range(2):
        world = a_world(10 + seed, "beta")
        run: Any = bl.simulate(
            world,
            base=bl.QLearning(bonus=bonus, scale=0.02),
            updater=bl.Active() if alpha == math.inf else bl.Lazy(alpha),
            delay=law,
            episodes=EPISODES,
            seed=seed,
            rewards=None,
            late=late,
            delay_per=per,
            trace=True,
        )
        steps = range(4) if per == "step" else [0] * 4
        delays = np.stack([law.draw(seed=seed, episodes=EPISODES, step=h) for h in steps], axis=1)
        book = Textbook(world.shape, bonus, "H", 0.02, 0.025)
        policies = expected_policies(world, run, seed, delays, book=book, alpha=alpha)
        np.testing.assert_array_equal(run.policies, policies)
        assert len(np.unique(run.policies, axis=0)) > 5


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


# Single kernels, by hand: H = 2, S = 2, A = 2, and log = 2, so that H^3 log = 16


HOEFFDING = QParameters(tight=0.0, bonus=0.0, c=0.25, log=2.0, lower=1.0)
BERNSTEIN = HOEFFDING._replace(bonus=1.0, c=0.5)


def row_of(h: int, s: int, a: int) -> int:
    return (h * 2 + s) * 2 + a


def learnt(parameters: QParameters, steps: list[tuple[int, int, int, int, float]]) -> Any:
    """Return Q, V and the memory after the steps (h, s, a, successor, reward)."""
    constants = np.array(parameters)
    inbox, memory = empty_inbox(len(steps)), empty_memory(8)
    q, v = np.zeros((2, 4)), np.ones((3, 2))
    initialise_values(constants, q, v)
    for h, s, a, y, reward in steps:
        post(inbox, row_of(h, s, a), y, reward)
    learn(constants, inbox, memory, q, v)
    assert inbox.used[0] == 0
    return q.reshape(2, 2, 2), v, memory


@pytest.mark.plain
def test_values_start_at_their_upper_limits() -> None:
    q, v, memory = learnt(HOEFFDING, [])
    assert (q == 2.0).all()
    assert v.tolist() == [[2.0, 2.0], [2.0, 2.0], [0.0, 0.0]]
    assert not memory.n.any()
    q, v, _ = learnt(HOEFFDING._replace(tight=1.0), [])
    assert q.tolist() == [[[2.0, 2.0]] * 2, [[1.0, 1.0]] * 2]
    assert v.tolist() == [[2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]


@pytest.mark.plain
def test_the_hoeffding_bonus_depends_on_the_count_only() -> None:
    memory = empty_memory(8)
    for t, expected in ((1, 0.25 * 4), (4, 0.25 * 2), (16, 0.25)):
        memory.n[5] = t
        assert bonus_of(HOEFFDING, memory, 5, 1.7, 3 / (2 + t), 2) == expected
    assert not memory.total.any()
    assert not memory.beta.any()


@pytest.mark.plain
def test_the_bernstein_bonus_is_the_difference_of_two_betas() -> None:
    memory = empty_memory(8)
    # t = 1, alpha = 1: one value has no variance
    memory.n[5] = 1
    beta_1 = 0.5 * (math.sqrt(2 * (0 + 2) * 2) + 1)
    assert bonus_of(BERNSTEIN, memory, 5, 1.0, 1.0, 2) == pytest.approx(beta_1 / 2, rel=1e-15)
    # t = 2, alpha = 3/4: the variance of 1 and 0 is 1/4
    memory.n[5] = 2
    beta_2 = 0.5 * (math.sqrt(2 * (0.25 + 2) * 2 / 2) + 1 / 2)
    expected = (beta_2 - 0.25 * beta_1) / 1.5
    assert bonus_of(BERNSTEIN, memory, 5, 0.0, 0.75, 2) == pytest.approx(expected, rel=1e-15)
    assert (memory.total[5], memory.squares[5]) == (1.0, 1.0)
    assert memory.beta[5] == pytest.approx(beta_2, rel=1e-15)
    assert np.flatnonzero(memory.beta).tolist() == [5]


@pytest.mark.plain
def test_the_bernstein_bonus_is_at_most_that_of_hoeffding() -> None:
    memory = empty_memory(8)
    memory.n[0] = 1
    wide = BERNSTEIN._replace(lower=100.0)
    assert bonus_of(wide, memory, 0, 1.0, 1.0, 2) == 0.5 * math.sqrt(16) / 2


@pytest.mark.plain
def test_steps_are_learnt_one_after_the_other() -> None:
    steps = [(1, 0, 0, 1, 0.5), (1, 0, 1, 0, 0.0), (0, 1, 0, 0, 0.25), (0, 1, 0, 0, 0.25)]
    q, v, memory = learnt(HOEFFDING, steps)
    # b_t = 1 / sqrt(t), alpha_1 = 1 and alpha_2 = 3/4
    last = 0.25 * (0.25 + 1.5 + 1) + 0.75 * (0.25 + 1.5 + 1 / math.sqrt(2))
    assert q[1, 0].tolist() == [0.5 + 0 + 1, 0.0 + 0 + 1]
    assert q[0, 1].tolist() == [pytest.approx(last, rel=1e-15), 2.0]
    assert v.tolist() == [[2.0, 2.0], [1.5, 2.0], [0.0, 0.0]]  # V is at most H
    counts = {row_of(1, 0, 0): 1, row_of(1, 0, 1): 1, row_of(0, 1, 0): 2}
    assert {int(row): int(memory.n[row]) for row in np.flatnonzero(memory.n)} == counts
    # in the opposite order, the first step is followed by a state worth H
    q, v, _ = learnt(HOEFFDING, steps[::-1])
    last = 0.25 * (0.25 + 2 + 1) + 0.75 * (0.25 + 2 + 1 / math.sqrt(2))
    assert q[0, 1, 0] == pytest.approx(last, rel=1e-15)
    assert v[1].tolist() == [1.5, 2.0]


@pytest.mark.plain
def test_a_tight_range_caps_every_value_at_the_steps_that_remain() -> None:
    steps = [(1, 0, a, 1, 0.5) for a in (0, 1)]
    q, v, _ = learnt(HOEFFDING._replace(tight=1.0), steps)
    assert q[1, 0].tolist() == [1.5, 1.5]
    assert v[1, 0] == 1.0
    _, v, _ = learnt(HOEFFDING, steps)
    assert v[1, 0] == 1.5


@pytest.mark.plain
def test_an_inbox_grows_by_doubling_and_keeps_its_steps() -> None:
    inbox = empty_inbox(2)
    assert with_inbox_room(inbox, 2) is inbox
    post(inbox, 3, 1, 0.5)
    assert with_inbox_room(inbox, 1) is inbox
    larger = with_inbox_room(inbox, 2)
    assert larger.row.size == larger.successor.size == larger.reward.size == 2 * 2 + 2
    post(larger, 7, 0, 0.25)
    assert larger.used[0] == 2
    assert larger.row[:2].tolist() == [3, 7]
    assert larger.successor[:2].tolist() == [1, 0]
    assert larger.reward[:2].tolist() == [0.5, 0.25]
    assert inbox.used[0] == 1  # the inbox it was made from is as before
    from_nothing = with_inbox_room(empty_inbox(0), 1)
    assert from_nothing.row.size == 1


@pytest.mark.plain
def test_feedback_fills_the_inbox_up_to_its_room_and_goes_on_after_it_has_grown() -> None:
    rng = np.random.default_rng(5)
    problem = LearningProblem(
        shape=bl.Shape(2, 2, 2),
        base=bl.QLearning(),
        updater=bl.Lazy(1),
        rewards=None,
        episodes=50,
    )
    config, state = configure(problem, 0), empty_state(problem)
    steps, states, actions, successors = rng.integers(0, 2, (4, 40))
    rewards = rng.random(40)
    done, sizes = 0, [state.inbox.row.size]
    while done < 40:
        more = absorb(config, state, done, steps, states, actions, successors, rewards, True, True)
        if more < 40:
            assert more == state.inbox.used[0]
            state = with_room_for(state, 1)
            sizes.append(state.inbox.row.size)
        done = more
    assert sizes == sorted(set(sizes))
    assert sizes[-1] < 2 * 40 + 2
    assert state.inbox.used[0] == 40
    rows = [row_of(*step) for step in zip(steps, states, actions, strict=True)]
    assert state.inbox.row[:40].tolist() == rows
    assert state.inbox.successor[:40].tolist() == successors.tolist()
    assert state.inbox.reward[:40].tolist() == rewards.tolist()
    assert state.counts.n.sum() == 40
