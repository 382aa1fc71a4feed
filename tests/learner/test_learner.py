"""The learner: feedback in any order, each episode once, nothing half done, nothing forgotten."""

import copy
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.backup import Row, Stage, clipped, mean, unseen
from belated.learner.bases import BackupRule
from belated.learner.feedback import whole_episode
from belated.learner.plan import Plan
from belated.learner.updaters import Arrival, Updater
from random_problems import puzzling_world, random_episodes
from snapshots import packed, same, unpacked

SHAPE = bl.Shape(3, 2, 3)
REWARDS = np.random.default_rng(0).random(SHAPE.table) * [[[0.1]], [[0.1]], [[1.0]]]

UPDATERS = {
    "active": bl.Active(),
    "lazy": bl.Lazy(2),
    "explicit": bl.ExplicitExploration(threshold=6),
    "explicit-apart": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
    "multi": bl.MultiInstance(),
}
every_updater = pytest.mark.parametrize("updater", list(UPDATERS.values()), ids=list(UPDATERS))


def make(updater: Updater | None = None, base: Any = None, **options: Any) -> bl.Learner:
    return bl.Learner(
        SHAPE,
        base=base or bl.UCRL2(scale=0.1),
        updater=updater or bl.Active(),
        **{"rewards": REWARDS, "episodes": 200, **options},
    )


def episode(id: int, states: Any = (0, 1, 2, 0), actions: Any = (0, 1, 0), **more: Any) -> Any:
    return bl.Episode(id, states, actions, **more)


Feedback = list[tuple[list[int], list[bl.Episode]]]


def feedback(seed: int, rounds: int, *, first: int = 1) -> Feedback:
    """Rounds of episodes to begin and of episodes that return, some very late or not at all."""
    rng = np.random.default_rng(seed)
    script: Feedback = []
    away: list[bl.Episode] = []
    for _ in range(rounds):
        begun = random_episodes(rng, SHAPE, int(rng.integers(0, 4)), first=first)
        first += len(begun)
        away += begun
        back = [e for e in away if rng.random() < 0.4]
        away = [e for e in away if e not in back]
        script.append(([e.id for e in begun], back))
    return script


def live(learner: bl.Learner, script: Feedback) -> list[Any]:
    """Everything a learner shows while it lives through the script."""
    shown: list[Any] = []
    for begun, back in script:
        for id in begun:
            policy = learner.start(id)
            shown += [policy.actions, policy.explore]
        shown += [learner.observe(back), learner.value, learner.observed, learner.missing]
        shown += [learner.epochs, learner.updates, learner.instances]
        shown += [learner.policy.actions, learner.policy.explore]
    return shown


# Order


@every_updater
def test_the_order_within_a_batch_changes_nothing(updater: Updater) -> None:
    rng = np.random.default_rng(1)
    script = feedback(2, 25)
    shuffled = [(begun, [back[i] for i in rng.permutation(len(back))]) for begun, back in script]
    assert any(len(back) > 1 for _, back in script)
    assert same(live(make(updater), script), live(make(updater), shuffled))


def test_any_iterable_of_episodes_is_feedback() -> None:
    learner = make()
    learner.observe(episode(id) for id in (5, 3))
    learner.observe((episode(4),))
    assert learner.observed == 3
    assert learner.observe([]) is False
    assert learner.observed == 3


def test_a_single_episode_or_step_needs_no_list() -> None:
    alone, listed = make(), make()
    alone.observe(episode(5))
    listed.observe([episode(5)])
    alone.observe_steps(bl.Step(6, 0, state=0, action=1, successor=2))
    listed.observe_steps([bl.Step(6, 0, state=0, action=1, successor=2)])
    assert same(alone.snapshot(), listed.snapshot())
    late = make(late="rewards", rewards="unknown")
    late.observe_path(episode(1))
    assert late.pending(1) is not None


@pytest.mark.parametrize("wrong", [bl.Step(6, 0, 0, 1, 2), None, 5, [5]])
def test_feedback_that_is_no_episode_is_refused_by_its_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^Feedback must be of type Episode, got "):
        make().observe(wrong)


def test_the_first_episode_beyond_the_number_given_warns_once() -> None:
    learner, enough = make(episodes=2), make(episodes=2)
    for id in (1, 2):
        learner.start(id)
    with pytest.warns(UserWarning, match=r"^Episode 3 of .*episodes=2.* K = 2, .* create ") as all:
        learner.start(3)
    assert [warning.filename for warning in all] == [__file__]
    learner.start(4)
    learner.observe(episode(id) for id in range(1, 7))
    for id in range(1, 5):
        enough.begin(id)
    enough.absorb([whole_episode(episode(id)) for id in range(1, 7)])
    assert same(learner.snapshot(), enough.snapshot())


def test_episodes_that_were_never_started_count_towards_the_number_given() -> None:
    learner = make(episodes=2)
    learner.observe([episode(1), episode(2)])
    with pytest.warns(UserWarning, match=r"^Episode 3 of a learner with episodes=2") as all:
        learner.observe(episode(3))
    assert [warning.filename for warning in all] == [__file__]
    learner.observe_steps(bl.Step(4, 0, 0, 1, 2))


@pytest.mark.plain
@every_updater
def test_observe_tells_whether_the_policy_changed(updater: Updater) -> None:
    learner = make(updater)
    told = []
    for begun, back in feedback(4, 40):
        for id in begun:
            learner.start(id)
        before = copy.deepcopy(learner.policy)
        told.append(learner.observe(back))
        assert told[-1] is (learner.policy != before)
    assert {True, False} == set(told)


def test_a_policy_once_given_does_not_change_under_its_player() -> None:
    learner = make(bl.ExplicitExploration(threshold=4))
    given = []
    for begun, back in feedback(5, 40):
        given += [(learner.start(id)) for id in begun]
        given.append(learner.policy)
        before = copy.deepcopy(given)
        learner.observe(back)
        assert given == before
    assert len({policy.actions.tobytes() for policy in given}) > 1


# What is refused


BAD_EPISODES: list[tuple[Callable[[], Any], str]] = [
    (lambda: episode(1), r"^Episode 1 has been observed already; .* once\.$"),
    (
        lambda: episode(9, states=[0, 1, 3, 0]),
        r"^states\[2\] of episode 9 must lie in 0 \.\. 2, got 3\.$",
    ),
    (
        lambda: episode(9, states=[0, 1, 2, -1]),
        r"^states\[3\] of episode 9 must lie in 0 \.\. 2, got -1\.$",
    ),
    (
        lambda: episode(9, actions=[0, 2, 0]),
        r"^actions\[1\] of episode 9 must lie in 0 \.\. 1, got 2\.$",
    ),
    (lambda: episode(9, states=[0, 1, 2]), r"^Episode 9 must have 4 states .*, got 3\.$"),
    (lambda: episode(9, actions=[0] * 4), r"^Episode 9 must have 3 actions .*, got 4\.$"),
    (
        lambda: episode(9, rewards=[0, math.nan, 1]),
        r"^rewards\[1\] of episode 9 must lie in \[0, 1\], got nan; map rewards ",
    ),
    (
        lambda: episode(9, rewards=[0, 0, 1.5]),
        r"^rewards\[2\] of episode 9 must lie in \[0, 1\], got 1\.5; .* bl\.scaled_rewards",
    ),
    (
        lambda: episode(9, rewards=[0, 1]),
        r"^rewards of episode 9 must have shape \(3,\), .*, got \(2,\)\.$",
    ),
    (
        lambda: (9, [0, 1, 2, 0], [0, 1, 0]),
        r"^Feedback must be of type Episode, got \(9, .*\)\.$",
    ),
]


@every_updater
@pytest.mark.parametrize(("bad", "message"), BAD_EPISODES, ids=range(len(BAD_EPISODES)))
def test_a_bad_episode_leaves_the_learner_as_it_was(
    updater: Updater, bad: Callable[[], Any], message: str
) -> None:
    learner = make(updater)
    for id in (1, 2, 3, 9):
        learner.start(id)
    learner.observe([episode(1)])
    before, policy = learner.snapshot(), learner.policy
    with pytest.raises((TypeError, ValueError), match=message):
        learner.observe([episode(2), bad(), episode(3)])
    assert same(learner.snapshot(), before)
    assert learner.policy is policy
    learner.observe([episode(2), episode(3), episode(9)])
    assert (learner.observed, learner.missing) == (4, 0)


@every_updater
def test_an_episode_begins_once(updater: Updater) -> None:
    learner = make(updater)
    learner.start(1)
    learner.start(2)
    learner.observe([episode(2)])
    before = learner.snapshot()
    for id in (1, 2):
        with pytest.raises(ValueError, match=rf"^id must be new, but episode {id} .* already"):
            learner.start(id)
    with pytest.raises(ValueError, match=r"^id must be at least 0, got -1\.$"):
        learner.start(-1)
    assert same(learner.snapshot(), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episodes": 0}, r"^episodes must be at least 1, got 0\.$"),
        ({"episodes": -5}, r"^episodes must be at least 1, got -5\.$"),
        ({"episodes": 10.0}, r"^episodes must be an integer, got 10\.0\.$"),
        (
            {"rewards": REWARDS * np.nan},
            r"^rewards must lie in .*, got nan at \[0, 0, 0\]; map rewards ",
        ),
        ({"rewards": REWARDS - 1}, r"^rewards must lie in .*, got -0\.\d+ at \[0, 0, 0\]; map "),
        ({"rewards": REWARDS[0].T}, r"^rewards must have shape .*, got \(2, 3\)\.$"),
        (
            {"updater": bl.Lazy},
            r"^updater must be an object, got the class Lazy\. Did you mean Lazy\(\)\?$",
        ),
        ({"updater": "lazy"}, r"^updater 'lazy' needs alpha, as in 'lazy:ALPHA'\.$"),
        ({"base": "ucrl"}, r"^base must be one of .*, got 'ucrl'\. Did you mean 'ucrl2' or"),
        (
            {"base": bl.UCRL2},
            r"^base must be an object, got the class UCRL2\. Did you mean UCRL2\(\)\?$",
        ),
        ({"stages": "all"}, r"^stages must be one of 'each', 'pooled', got 'all'\.$"),
        ({"planning": "none"}, r"^planning must be one of .*, got 'none'\.$"),
        ({"seed": -1}, r"^seed must lie in 0 .*, got -1\.$"),
        ({"seed": 0.5}, r"^seed must be an integer, got 0\.5\.$"),
    ],
)
def test_a_bad_option_is_refused(options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make(**options)


def test_what_is_no_shape_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^shape .*\(3, 2, 3\).*\.$"):
        bl.Learner(
            (3, 2, 3),  # type: ignore[arg-type]
            base=bl.UCRL2(),
            updater=bl.Active(),
            rewards=REWARDS,
            episodes=9,
        )


# Snapshots


@pytest.mark.parametrize("stages", ["each", "pooled"])
def test_a_restored_learner_keeps_its_problem(stages: Any) -> None:
    learner = make(bl.Lazy(math.inf), bl.UCBVI_BF(preset="two_term"), stages=stages, seed=2**64 - 1)
    learner.observe([episode(8)])
    restored = bl.Learner.restore(unpacked(packed(learner.snapshot())))
    assert restored.shape == SHAPE
    assert same(restored.snapshot(), learner.snapshot())
    with pytest.raises(ValueError, match=r"^Episode 8 has been observed already"):
        restored.observe([episode(8)])


def test_ids_of_any_size_survive_a_snapshot() -> None:
    learner = make()
    ids = [0, 1, 4095, 4096, 10**9, 2**62, 2**63 - 3]
    for id in ids:
        learner.start(id)
        learner.start(id + 2)
    learner.observe([episode(id) for id in ids])
    restored = bl.Learner.restore(learner.snapshot())
    assert (restored.observed, restored.missing) == (len(ids), len(ids))
    for id in ids:
        with pytest.raises(ValueError, match=f"^id must be new, but episode {id} "):
            restored.start(id)
        with pytest.raises(ValueError, match=f"^id must be new, but episode {id + 2} "):
            restored.start(id + 2)


def test_an_id_beyond_63_bits_is_refused() -> None:
    with pytest.raises(ValueError, match=rf"^id must be below 2\*\*63, got {2**63}\.$"):
        make().start(2**63)
    with pytest.raises(ValueError, match=rf"^Episode id must be below 2\*\*63, got {2**70}\.$"):
        episode(2**70)


def test_another_format_is_refused() -> None:
    state = {**make().snapshot(), "format": 7}
    with pytest.raises(ValueError, match=r"^The snapshot must have format 5, got 7; .*\.$"):
        bl.Learner.restore(state)


# A user's own base


def plain_backup(constants: Any, stage: Stage, row: Row) -> float:
    if row.n == 0:
        return unseen(stage, row)
    return clipped(stage, row, mean(stage, row), constants[0] * constants[1] / math.sqrt(row.n))


compiled_backup = bl.backup(plain_backup)


@dataclass(frozen=True)
class Simple(bl.Base):
    """A bonus of size / sqrt(N')."""

    size: float = 0.3
    compiled: bool = False

    name = "simple"

    def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
        function = compiled_backup if self.compiled else plain_backup
        return BackupRule(function, np.array([self.size, 1.0]), "successors")


class Dense:
    """The same as `Simple`, as an object that plans dense counts, with no help from the library."""

    def plan(self, visits: Any, transitions: Any, rewards: Any, episodes: int) -> Plan:
        H, S, A = rewards.shape
        q, v = np.zeros((H, S, A)), np.zeros((H + 1, S))
        for h in reversed(range(H)):
            stage = h if len(visits) > 1 else 0
            for s, a in np.ndindex(S, A):
                n = visits[stage, s, a]
                rest = H - h - 1.0
                follows = rest
                if n > 0:
                    total = 0.0
                    for y in range(S):
                        total += transitions[stage, s, a, y] * v[h + 1, y]
                    follows = total / n
                bonus = min(rest, 0.3 / math.sqrt(n)) if n > 0 else 0.0
                q[h, s, a] = min(rest + 1, rewards[h, s, a] + follows + bonus)
            v[h] = q[h].max(axis=1)
        return Plan(q.argmax(axis=2).astype(np.int32), q, v)


@pytest.mark.plain
@every_updater
@pytest.mark.parametrize("stages", ["each", "pooled"])
def test_a_users_base_may_be_compiled_plain_or_any_object(updater: Updater, stages: Any) -> None:
    script = feedback(7, 20)
    shown = [
        live(make(updater, base, stages=stages), script)
        for base in (Simple(compiled=True), Simple(compiled=False), Dense())
    ]
    assert same(shown[0], shown[1])
    assert same(shown[0], shown[2])


def test_a_base_without_a_backup_rule_raises_an_error() -> None:
    with pytest.raises(TypeError, match=r"^Base needs a method backup_rule\(shape, .*\)\.$"):
        make(base=bl.Base())


# A user's own updater


@dataclass(frozen=True)
class EveryFifth(Updater):
    """Plans when so many episodes have come since the last plan."""

    count: int = 5
    seen: list[Arrival] = field(default_factory=list, compare=False)

    name = "every-fifth"

    def due(self, arrival: Arrival) -> bool:
        self.seen.append(
            arrival._replace(counts=arrival.counts.copy(), epoch_counts=arrival.epoch_counts.copy())
        )
        return arrival.since_plan >= self.count


def test_a_users_updater_sees_what_arrived_and_decides() -> None:
    updater = EveryFifth()
    learner = make(updater)
    H, S, A = SHAPE.table
    n = np.zeros(H * S * A, np.int64)
    epoch = n.copy()
    since, planned = 0, []
    episodes = iter(random_episodes(np.random.default_rng(10), SHAPE, 14))
    for size in (1, 3, 2, 4, 1, 3):
        batch = list(itertools.islice(episodes, size))
        before = learner.updates
        learner.observe(batch)
        planned.append(learner.updates > before)
        rows = [(h * S + e.states[h]) * A + e.actions[h] for e in batch for h in range(H)]
        np.add.at(n, rows, 1)
        since += size
        arrival = updater.seen[-1]
        assert (arrival.arrived, arrival.since_plan) == (size, since)
        assert sorted(arrival.rows.tolist()) == sorted(rows)
        np.testing.assert_array_equal(arrival.counts, n)
        np.testing.assert_array_equal(arrival.epoch_counts, epoch)
        if planned[-1]:
            since, epoch = 0, n.copy()
    assert planned == [False, False, True, False, True, False]
    learner.observe([])
    assert len(updater.seen) == 6  # nothing came, nothing is asked


def test_auto_warns_once_where_the_reference_loop_must_run() -> None:
    world = puzzling_world(np.random.default_rng(13), SHAPE)
    for base, updater, reason in (
        (Simple(), bl.Active(), "the backup of Simple is a plain Python function"),
        (Dense(), bl.Active(), "the base Dense is a Python object"),
        (bl.UCRL2(), EveryFifth(), "the updater EveryFifth is a Python object"),
    ):
        with pytest.warns(UserWarning, match=reason) as warned:
            run = bl.simulate(world, base=base, updater=updater, episodes=20)
        assert [warning.filename for warning in warned] == [__file__]
        slow = bl.simulate(world, base=base, updater=updater, episodes=20, engine="reference")
        assert run.total_regret == slow.total_regret
        with pytest.raises(ValueError, match=f"^engine='compiled' is not possible: {reason}"):
            bl.simulate(world, base=base, updater=updater, episodes=20, engine="compiled")
    bl.simulate(world, base=Simple(compiled=True), updater=bl.Active(), episodes=20)


@pytest.mark.parametrize("base", [Simple(size=0.2), Dense()], ids=["a base", "an object"])
def test_a_users_base_is_passed_again_to_restore(base: Any) -> None:
    learner = make(base=base)
    live(learner, feedback(14, 10))
    state = learner.snapshot()
    with pytest.raises(ValueError, match=r"^The base .* is not built in; pass it as .*base=\)\.$"):
        bl.Learner.restore(state)
    assert same(bl.Learner.restore(state, base=base).snapshot(), state)


def test_a_users_updater_is_passed_again_to_restore() -> None:
    @dataclass(frozen=True)
    class Second(Updater):
        name = "second"

        def due(self, arrival: Arrival) -> bool:
            return arrival.since_plan >= 2

    learner = make(Second())
    live(learner, feedback(15, 11))
    state = learner.snapshot()
    with pytest.raises(ValueError, match=r"^The updater 'second' is not built in; pass it as "):
        bl.Learner.restore(state)
    restored = bl.Learner.restore(state, updater=Second())
    script = feedback(16, 10, first=100)
    assert same(live(restored, script), live(learner, script))


def test_what_is_made_from_a_built_in_is_not_mistaken_for_it() -> None:
    class Mine(bl.UCRL2):
        def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
            return super().backup_rule(shape, episodes)._replace(reads="order")

    class Never(bl.Active):
        def due(self, arrival: Arrival) -> bool:
            return False

    with pytest.raises(ValueError, match=r"^The updater .* is not built in; pass it as "):
        bl.Learner.restore(make(Never()).snapshot())
    with pytest.raises(ValueError, match=r"^The base .* is not built in; pass it as "):
        bl.Learner.restore(make(base=Mine(scale=1.0)).snapshot())


def test_a_learner_prints_its_problem_and_its_episodes() -> None:
    learner = bl.Learner(
        bl.Shape(2, 2, 1),
        base=bl.UCRL2(),
        updater=bl.Lazy(10),
        rewards=[[0, 0], [0, 1]],
        episodes=9,
    )
    for k in range(3):
        learner.start(k)
    learner.observe([bl.Episode(1, [0, 1], [0])])
    assert repr(learner) == (
        f"Learner(Shape(states=2, actions=2, horizon=1), base={bl.UCRL2()!r}, "
        "updater=Lazy(alpha=10.0), started=3, observed=1, in_flight=2, updates=1)"
    )


def test_a_learner_takes_numbers_or_named_states_in_place_of_a_shape() -> None:
    rest = {"base": "ucrl2", "updater": "active", "rewards": None, "episodes": 9}
    states = bl.states(stage=["new", "returning"], severity=["mild", "severe"])
    learner = bl.Learner(states=states, actions=2, horizon=3, **rest)
    assert learner.shape == bl.Shape(4, 2, 3)
    with pytest.raises(TypeError, match=r"not both"):
        bl.Learner(bl.Shape(4, 2, 3), states=4, **rest)
    with pytest.raises(TypeError, match=r"missing: \['horizon'\]"):
        bl.Learner(states=4, actions=2, **rest)
