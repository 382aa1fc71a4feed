"""When to plan: each updater against its rule, read from the history of a run."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.delays import NEVER
from belated.learner.updaters import Arrival
from belated.mdp.play import play
from random_problems import dense_counts, puzzling_world, random_shape

SEEDS = range(6)
ONE = bl.MDP.dense([[[1.0]]], [[0.5]], horizon=1)

engines = pytest.mark.parametrize("engine", ["compiled", "reference"])


def law(rng: np.random.Generator) -> bl.delays.Law:
    kinds = (bl.delays.constant, bl.delays.geometric, bl.delays.poisson, bl.delays.uniform)
    return kinds[int(rng.integers(4))](mean=int(rng.integers(0, 12)))


def base(rng: np.random.Generator) -> bl.Base:
    """One that changes its mind often."""
    return (bl.UCRL2(scale=0.1), bl.UCBVI_CH(scale=0.01), bl.KL_UCRL(scale=0.1))[rng.integers(3)]


def due(updater: bl.Lazy, n: int, epoch: int) -> bool:
    counts = np.array([3, n]), np.array([3, epoch])
    return bool(updater.due(Arrival(*counts, rows=np.array([1]), arrived=1, since_plan=1)))


class Definition:
    """A run as the definitions have it: at the start of every episode, plan from its history.

    An episode counts at the start of episode k iff i + tau_i < k, and then a plan is a pure
    function of the counts, so that nothing need be remembered but what was played.
    """

    def __init__(self, world: bl.MDP, base: bl.Base, delays: Any, seed: int) -> None:
        self.world, self.base, self.delays, self.seed = world, base, delays.tolist(), seed
        self.played: list[bl.Episode] = []

    @property
    def history(self) -> list[bl.Episode]:
        k = len(self.played) + 1
        return [e for e in self.played if e.id + self.delays[e.id - 1] < k]

    def plan(self, episodes: list[bl.Episode]) -> Any:
        n, m = dense_counts(self.world.shape, episodes)
        rewards = self.world.reward_table()
        return bl.plan(self.base, n, m, rewards, episodes=len(self.delays)).policy

    def play(self, actions: Any, explore: Any = None) -> None:
        policy = bl.Policy(actions, explore)
        k = len(self.played) + 1
        self.played.append(play(self.world, policy, seed=self.seed, episode=k))


# Active


@engines
@pytest.mark.parametrize("seed", SEEDS)
def test_active_plays_the_plan_of_all_that_has_arrived(engine: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    world, algorithm, delay = puzzling_world(rng), base(rng), law(rng)
    run = bl.simulate(
        world,
        base=algorithm,
        updater=bl.Active(),
        delay=delay,
        episodes=50,
        seed=seed,
        trace=True,
        engine=engine,
    )
    told = Definition(world, algorithm, delay.draw(seed=seed, episodes=50), seed)
    ticks = set()
    for policy in run.policies:
        np.testing.assert_array_equal(policy, told.plan(told.history))
        ticks |= {len(told.history)}
        told.play(policy)
    assert run.epochs == len(ticks)  # one plan for each time something came


# Lazy


@engines
@pytest.mark.parametrize("seed", SEEDS)
def test_lazy_with_infinite_alpha_is_active_policy_for_policy(engine: Any, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    world, algorithm, delay = puzzling_world(rng, bl.Shape(4, 3, 4)), base(rng), law(rng)
    active, lazy, eager = (
        bl.simulate(
            world,
            base=algorithm,
            updater=updater,
            delay=delay,
            episodes=120,
            seed=seed,
            trace=True,
            every=1,
            engine=engine,
        )
        for updater in (bl.Active(), bl.Lazy(alpha=math.inf), bl.Lazy(alpha=120))
    )
    for other in (lazy, eager):
        np.testing.assert_array_equal(active.policies, other.policies)
        np.testing.assert_array_equal(active.regret, other.regret)
        assert (active.epochs, active.updates) == (other.epochs, other.updates)
    assert len(np.unique(active.policies, axis=0)) > 1


@engines
@pytest.mark.parametrize("alpha", [1, 1.5, 3])
def test_lazy_plays_the_plan_of_its_epochs_first_moment(engine: Any, alpha: float) -> None:
    rng = np.random.default_rng(200)
    for seed in SEEDS:
        world, algorithm, delay = puzzling_world(rng), base(rng), law(rng)
        run = bl.simulate(
            world,
            base=algorithm,
            updater=bl.Lazy(alpha),
            delay=delay,
            episodes=50,
            seed=seed,
            trace=True,
            engine=engine,
        )
        told = Definition(world, algorithm, delay.draw(seed=seed, episodes=50), seed)
        begun = told.history
        epochs = 1
        for policy in run.policies:
            n, epoch = (dense_counts(world.shape, x)[0] for x in (told.history, begun))
            if ((n > epoch) & (Fraction(alpha) * (n - epoch) >= epoch)).any():
                begun = told.history
                epochs += 1
            np.testing.assert_array_equal(policy, told.plan(begun))
            told.play(policy)
        assert run.epochs == epochs


@pytest.mark.plain
def test_lazy_one_plans_when_a_count_has_doubled() -> None:
    learner = bl.Learner(
        bl.Shape(1, 1, 1), base=bl.UCRL2(), updater=bl.Lazy(1), rewards=[[0.5]], episodes=100
    )
    planned_at = []
    for k in range(1, 101):
        before = learner.updates
        learner.observe([bl.Episode(k, states=[0, 0], actions=[0])])
        if learner.updates > before:
            planned_at.append(k)
    assert planned_at == [1, 2, 4, 8, 16, 32, 64]


@engines
@pytest.mark.parametrize(("episodes", "J"), [(2, 2), (3, 3), (5, 4), (10, 5), (100, 8)])
def test_lazy_one_has_the_known_number_of_epochs(engine: Any, episodes: int, J: int) -> None:
    run = bl.simulate(ONE, base=bl.UCRL2(), updater=bl.Lazy(1), episodes=episodes, engine=engine)
    assert run.epochs == J
    assert run.updates == J - 1


def test_lazy_plans_once_a_count_has_grown_by_one_over_alpha() -> None:
    learner = bl.Learner(
        bl.Shape(1, 1, 1), base=bl.UCRL2(), updater=bl.Lazy(2), rewards=[[0.5]], episodes=100
    )
    planned_at = []
    for k in range(1, 30):
        before = learner.updates
        learner.observe([bl.Episode(k, states=[0, 0], actions=[0])])
        if learner.updates > before:
            planned_at.append(k)
    # 2 (n - e) >= e, that is n = e + ceil(e / 2)
    assert planned_at == [1, 2, 3, 5, 8, 12, 18, 27]


COUNTS = st.integers(0, 10**12)
ALPHAS = st.integers(1, 10) | st.integers(1, 10**6) | st.integers(1, 2**53)


@settings(max_examples=300, deadline=None)
@given(COUNTS, ALPHAS, st.integers(-2, 2))
def test_the_trigger_of_a_whole_alpha_is_exact(epoch: int, alpha: int, off: int) -> None:
    n = max(epoch, epoch + -(-epoch // alpha) + off)  # around the least count that suffices
    assert due(bl.Lazy(alpha), n, epoch) == (n > epoch and alpha * (n - epoch) >= epoch)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 64), st.integers(0, 63), st.integers(-2, 2))
def test_the_trigger_of_a_binary_fraction_is_exact(
    epoch: int, whole: int, part: int, off: int
) -> None:
    alpha = Fraction(whole) + Fraction(part, 64)
    n = max(epoch, epoch + math.ceil(epoch / alpha) + off)
    assert due(bl.Lazy(float(alpha)), n, epoch) == (n > epoch and alpha * (n - epoch) >= epoch)


@pytest.mark.parametrize("alpha", [1, 7, 1e9])
def test_only_new_data_triggers_and_a_first_observation_always_does(alpha: float) -> None:
    assert not due(bl.Lazy(alpha), 0, 0)
    assert not due(bl.Lazy(alpha), 5, 5)
    assert due(bl.Lazy(alpha), 1, 0)


@pytest.mark.parametrize("alpha", [0.99, 0, -1, math.nan, -math.inf])
def test_an_alpha_below_one_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=rf"^alpha must be at least 1 .*, got {alpha}\.$"):
        bl.Lazy(alpha)


@pytest.mark.parametrize("alpha", ["2", None, True])
def test_an_alpha_that_is_no_number_is_refused(alpha: Any) -> None:
    with pytest.raises(TypeError, match=rf"^alpha must be a number( or 'auto')?, got {alpha!r}\.$"):
        bl.Lazy(alpha)


def test_an_alpha_of_numpy_is_a_number_too() -> None:
    assert bl.Lazy(np.int64(3)).alpha == bl.Lazy(np.float32(3)).alpha == 3.0


@pytest.mark.parametrize("alpha", [1, 1.3, 2, 10, 100, math.inf])
def test_no_run_has_more_epochs_than_the_corrected_bound(alpha: float) -> None:
    rng = np.random.default_rng(300)
    for seed in range(25):
        shape = random_shape(rng, least=1)
        K = int(rng.integers(1, 300))
        run = bl.simulate(
            puzzling_world(rng, shape),
            base=base(rng),
            updater=bl.Lazy(alpha),
            delay=law(rng),
            episodes=K,
            seed=seed,
        )
        assert run.epochs == run.updates + 1
        assert run.epochs <= bl.theory.epoch_bound(shape, K, alpha)


# Explicit exploration


def rule(updater: bl.ExplicitExploration, shape: bl.Shape, history: list[bl.Episode]) -> Any:
    """Return the mask of actions to explore, (H, S, A), counted step by step."""
    H, S, A = shape.table
    size = {"SH": S * H, "SHA": S * H * A}.get(updater.log)
    m = updater.threshold
    if m is None:
        m = updater.c * updater.tau_max * (math.log(size / updater.delta) if size else 1)
    marks = np.zeros((H, S, A), bool)
    for h, s in np.ndindex(H, S):
        seen = [0] * A
        for episode in history:
            for step in range(H) if updater.pooled else [h]:
                if episode.states[step] == s:
                    seen[episode.actions[step]] += 1
        for a in range(A):
            if updater.unit == "sh":
                marks[h, s, a] = sum(seen) < m
            elif updater.draw == "all":
                marks[h, s, a] = min(seen) < m
            else:
                marks[h, s, a] = seen[a] < m
    return marks


VARIANTS = [
    {"unit": "sha", "draw": "all", "pooled": True},
    {"unit": "sha", "draw": "all", "pooled": False},
    {"unit": "sha", "draw": "rare", "pooled": True},
    {"unit": "sha", "draw": "rare", "pooled": False},
    {"unit": "sh", "draw": "all", "pooled": True},
    {"unit": "sh", "draw": "all", "pooled": False},
]


@engines
@pytest.mark.parametrize("options", VARIANTS, ids=lambda x: "-".join(map(str, x.values())))
def test_exploration_is_where_the_observed_history_says(engine: Any, options: Any) -> None:
    rng = np.random.default_rng(400)
    ended = False
    for seed, log in enumerate(["SH", "SHA", "none", "SH"]):
        world, algorithm = puzzling_world(rng, random_shape(rng, most=3)), base(rng)
        delay = bl.delays.uniform(mean=2)
        delays = delay.draw(seed=seed, episodes=50)
        given_to_run = bl.ExplicitExploration(log=log, c=0.5, delta=0.3, **options)
        run = bl.simulate(
            world,
            base=algorithm,
            updater=given_to_run,
            delay=delay,
            episodes=50,
            seed=seed,
            trace=True,
            engine=engine,
        )
        # The simulation supplies the largest delay of the run.
        updater = bl.ExplicitExploration(
            tau_max=int(delays.max()), log=log, c=0.5, delta=0.3, **options
        )
        told = Definition(world, algorithm, delays, seed)
        last = 0
        for k, policy in enumerate(run.policies, start=1):
            marks = rule(updater, world.shape, told.history)
            plan = told.plan(told.history)
            np.testing.assert_array_equal(policy, np.where(marks.any(axis=2), -1, plan))
            told.play(plan, marks)
            visited = told.played[-1].states[:-1]
            if marks[np.arange(visited.size), visited].any():
                last = k
        assert run.last_explored == last
        ended |= 0 < last < 50
    assert ended


@pytest.mark.plain
@pytest.mark.parametrize("options", VARIANTS, ids=lambda x: "-".join(map(str, x.values())))
def test_a_learner_marks_what_the_rule_marks(options: Any) -> None:
    rng = np.random.default_rng(401)
    shape = bl.Shape(3, 2, 2)
    updater = bl.ExplicitExploration(threshold=2.5, **options)
    learner = bl.Learner(
        shape, base=bl.UCRL2(), updater=updater, rewards=rng.random(shape.table), episodes=50
    )
    history: list[bl.Episode] = []
    while learner.policy.is_stochastic:
        np.testing.assert_array_equal(learner.policy.explore, rule(updater, shape, history))
        history.append(bl.Episode(len(history), rng.integers(0, 3, 3), rng.integers(0, 2, 2)))
        learner.observe(history[-1:])
    assert not rule(updater, shape, history).any()
    assert len(history) > 5


@pytest.mark.parametrize(
    ("options", "m"),
    [
        ({"tau_max": 100}, 100 * math.log(30 * 30 / 0.05)),
        ({"tau_max": 100, "log": "SHA"}, 100 * math.log(30 * 30 * 2 / 0.05)),
        ({"tau_max": 100, "log": "none"}, 100),
        ({"tau_max": 100, "c": 0.5, "delta": 0.1}, 50 * math.log(30 * 30 / 0.1)),
        ({"threshold": 7}, 7),
        ({"threshold": 7, "tau_max": 100}, 7),
        ({"tau_max": 0}, 0),
    ],
)
def test_the_threshold_has_its_formula(options: Any, m: float) -> None:
    updater = bl.ExplicitExploration(**options)
    assert updater.count_threshold(bl.Shape(30, 2, 30)) == pytest.approx(m, rel=1e-15)


@engines
@pytest.mark.parametrize("options", VARIANTS, ids=lambda x: "-".join(map(str, x.values())))
def test_without_delay_explicit_exploration_is_the_plain_base(engine: Any, options: Any) -> None:
    rng = np.random.default_rng(402)
    world, algorithm = puzzling_world(rng), base(rng)
    plain, told, untold = (
        bl.simulate(
            world,
            base=algorithm,
            updater=updater,
            episodes=60,
            trace=True,
            engine=engine,
        )
        for updater in (
            bl.Active(),
            bl.ExplicitExploration(tau_max=0, **options),
            bl.ExplicitExploration(**options),
        )
    )
    for run in (told, untold):
        np.testing.assert_array_equal(run.policies, plain.policies)
        assert run.total_regret == plain.total_regret
        assert run.last_explored == 0


@engines
def test_without_a_largest_delay_explicit_exploration_refuses(engine: Any) -> None:
    delay = bl.delays.never(0.5, otherwise=bl.delays.constant(1))
    given: dict[str, Any] = {"base": bl.UCRL2(), "delay": delay, "episodes": 30, "engine": engine}
    with pytest.raises(ValueError, match=r"delay is infinite.*pass tau_max or threshold to .*\.$"):
        bl.simulate(ONE, updater=bl.ExplicitExploration(), **given)
    for known in (bl.ExplicitExploration(tau_max=3), bl.ExplicitExploration(threshold=4)):
        assert bl.simulate(ONE, updater=known, **given).last_explored > 0
    with pytest.raises(ValueError, match=r"^tau_max is missing; .*\.$"):
        bl.Learner(
            bl.Shape(1, 1, 1),
            base=bl.UCRL2(),
            updater=bl.ExplicitExploration(),
            rewards=[[0.5]],
            episodes=9,
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "s"}, r"^unit must be one of 'sha', 'sh', got 's'\."),
        ({"draw": "some"}, r"^draw must be one of 'all', 'rare', got 'some'\.$"),
        ({"log": "S"}, r"^log must be one of 'SH', 'SHA', 'none', got 'S'\."),
        ({"unit": "sh", "draw": "rare"}, r"^draw='rare' needs unit='sha'; got unit='sh'\.$"),
        ({"tau_max": -1}, r"^tau_max must be finite and at least 0, got -1\.$"),
        ({"tau_max": math.inf}, r"^tau_max must be finite and at least 0, got inf\.$"),
        ({"threshold": math.nan}, r"^threshold must be finite and at least 0, got nan\.$"),
        ({"c": -0.5}, r"^c must be finite and at least 0, got -0\.5\.$"),
        ({"delta": 1}, r"^delta must lie strictly between 0 and 1, got 1\.$"),
    ],
)
def test_a_bad_option_of_explicit_exploration_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bl.ExplicitExploration(**options)


# Multi-instance


@engines
@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_copies_are_made_as_the_most_missing_and_one(engine: Any, seed: int) -> None:
    rng = np.random.default_rng(500 + seed)
    delay = law(rng)
    if seed % 2:
        delay = bl.delays.never(0.05, otherwise=delay)
    K = int(rng.integers(1, 80))
    run = bl.simulate(
        puzzling_world(rng),
        base=bl.UCRL2(),
        updater=bl.MultiInstance(),
        delay=delay,
        episodes=K,
        seed=seed,
        engine=engine,
    )
    delays = delay.draw(seed=seed, episodes=K).tolist()
    missing = [sum(i + delays[i - 1] >= k for i in range(1, k)) for k in range(1, K + 1)]
    assert run.max_missing == max(missing)
    assert run.instances == 1 + max(missing)


@engines
@pytest.mark.parametrize("m", [0, 1, 5])
def test_a_constant_delay_needs_one_copy_more(engine: Any, m: int) -> None:
    run = bl.simulate(
        ONE,
        base=bl.UCRL2(),
        updater=bl.MultiInstance(),
        delay=bl.delays.constant(m),
        episodes=30,
        engine=engine,
    )
    assert run.instances == m + 1


@engines
@pytest.mark.parametrize("seed", SEEDS)
def test_each_copy_is_a_lone_active_learner_of_its_own_episodes(engine: Any, seed: int) -> None:
    rng = np.random.default_rng(600 + seed)
    world, algorithm, delay = puzzling_world(rng), base(rng), law(rng)
    run = bl.simulate(
        world,
        base=algorithm,
        updater=bl.MultiInstance(),
        delay=delay,
        episodes=60,
        seed=seed,
        trace=True,
        engine=engine,
    )
    told = Definition(world, algorithm, delay.draw(seed=seed, episodes=60), seed)
    lone: list[bl.Learner] = []
    waits_for: list[int] = []  # of each copy: the episode it waits for, 0 for none
    owner: dict[int, int] = {}
    returned: set[int] = set()
    for k, policy in enumerate(run.policies, start=1):
        for episode in told.history:
            if episode.id not in returned:
                returned.add(episode.id)
                lone[owner[episode.id]].observe([episode])
                waits_for[owner[episode.id]] = 0
        if 0 not in waits_for:
            lone.append(
                bl.Learner(
                    world.shape,
                    base=algorithm,
                    updater=bl.Active(),
                    rewards=world.reward_table(),
                    episodes=60,
                )
            )
            waits_for.append(0)
        owner[k] = waits_for.index(0)
        waits_for[owner[k]] = k
        np.testing.assert_array_equal(policy, lone[owner[k]].policy.actions)
        told.play(policy)
    assert run.instances == len(lone)
    assert run.updates == sum(learner.updates for learner in lone)


@engines
def test_without_delay_there_is_one_copy_and_it_is_active(engine: Any) -> None:
    rng = np.random.default_rng(700)
    world, algorithm = puzzling_world(rng), base(rng)
    multi, active = (
        bl.simulate(world, base=algorithm, updater=x, episodes=60, trace=True, engine=engine)
        for x in (bl.MultiInstance(), bl.Active())
    )
    np.testing.assert_array_equal(multi.policies, active.policies)
    assert (multi.instances, multi.updates) == (1, active.updates)


@pytest.mark.plain
def test_feedback_before_its_start_is_refused() -> None:
    learner = bl.Learner(
        bl.Shape(1, 1, 1),
        base=bl.UCRL2(),
        updater=bl.MultiInstance(),
        rewards=[[0.5]],
        episodes=9,
    )
    episode = bl.Episode(4, states=[0, 0], actions=[0])
    learner.start(3)
    with pytest.raises(ValueError, match=r"^Episode 4 was not started; .* start\(4\) first\.$"):
        learner.observe([episode])
    assert (learner.observed, learner.missing, learner.instances) == (0, 1, 1)
    learner.start(4)
    learner.observe([episode])
    assert (learner.observed, learner.missing, learner.instances) == (1, 1, 2)


def test_the_lowest_free_copy_plays_next() -> None:
    """Copies tell themselves apart here by what they have seen of one row."""
    shape = bl.Shape(2, 2, 2)
    learner = bl.Learner(
        shape,
        base=bl.UCBVI_CH(scale=0),
        updater=bl.MultiInstance(),
        rewards=[[[0.1, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]],
        episodes=9,
    )
    fresh = learner.start(1)
    assert learner.start(2) == fresh
    assert learner.start(3) == fresh
    # Copy 1 has learnt that action 0 does not lead to state 1, and so tries the other.
    assert learner.observe([bl.Episode(2, states=[0, 0, 0], actions=[0, 0])])
    taught = learner.policy
    assert taught.actions[0, 0] == 1
    # Copy 0 returns with good news, and comes first.
    assert learner.observe([bl.Episode(1, states=[0, 1, 0], actions=[0, 0])])
    assert learner.policy.actions[0, 0] == 0
    learner.start(4)
    assert learner.policy == taught
    learner.start(5)
    assert learner.policy == fresh
    assert learner.instances == 3


@engines
@pytest.mark.parametrize("updater", [bl.Active(), bl.Lazy(1), bl.MultiInstance()], ids=str)
def test_what_never_returns_is_never_counted(engine: Any, updater: Any) -> None:
    run = bl.simulate(
        ONE,
        base=bl.UCRL2(),
        updater=updater,
        delay=bl.delays.empirical([NEVER]),
        episodes=20,
        engine=engine,
    )
    assert (run.updates, run.max_missing) == (0, 19)
