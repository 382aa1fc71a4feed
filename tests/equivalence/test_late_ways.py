"""One truth, every way: what is late, by what pieces, what is known, and every kind of base."""

import dataclasses
import math
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.compiled import JIT
from belated.learner.bases import BackupRule, Base, EpsilonGreedy, Optimal, UniformRandom
from belated.learner.rewards import BONUSES
from belated.learner.updaters import Updater
from belated.simulation.run import Run
from combinations import spread
from ways import all_agree, difference, every_way, printed_compiled_and_plain
from worlds import laws, random_world

BASES: dict[str, Base] = {
    "psrl update": bl.PSRL(prior=0.3, resample="update"),
    "psrl episode": bl.PSRL(prior=0.3, resample="episode", ties="random"),
    "psrl auto": bl.PSRL(prior=0.01),
    "rlsvi": bl.RLSVI(scale=0.1, clip=True, resample="update"),
    "rlsvi K": bl.RLSVI(scale=0.03, k="K", resample="episode", ties="random"),
    "q-learning": bl.QLearning(scale=0.01),
    "q-learning bernstein": bl.QLearning(scale=0.05, bonus="bernstein", ties="random"),
    "q-learning H-h+1": bl.QLearning(scale=0.01, range="H-h+1", ties="random"),
    "q-learning both": bl.QLearning(scale=0.05, bonus="bernstein", range="H-h+1"),
    "epsilon-greedy": EpsilonGreedy(epsilon=0.3),
    "epsilon-greedy ties": EpsilonGreedy(epsilon=0.3, ties="random"),
    "random": UniformRandom(),
    "optimal": Optimal(),
    "ucrl2": bl.UCRL2(scale=0.1),
    "ubev": bl.UBEV(scale=0.1, monotone=True),
    "kl-ucrl": bl.KL_UCRL(scale=0.1),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.03, ties="random"),
}
UPDATERS: dict[str, Updater] = {
    "active": bl.Active(),
    "lazy 1": bl.Lazy(1),
    "lazy 3": bl.Lazy(3),
    "lazy auto": bl.Lazy("auto"),
    "explicit": bl.ExplicitExploration(threshold=7),
    "explicit by state": bl.ExplicitExploration(threshold=7, unit="sh", pooled=False),
    "explicit rare": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
    "multi": bl.MultiInstance(),
}
KNOWN = {"rewards": "known", "late": "everything"}
UNKNOWN = {"rewards": None, "late": "everything"}
REWARDS = {"rewards": None, "late": "rewards"}
KINDS: dict[str, dict[str, Any]] = {
    "late rewards by step": {**REWARDS, "delay_per": "step"},
    "late rewards": {**REWARDS, "delay_per": "episode"},
    "unknown by step": {**UNKNOWN, "delay_per": "step"},
    "unknown": {**UNKNOWN, "delay_per": "episode"},
    "known by step": {**KNOWN, "delay_per": "step"},
    "known": {**KNOWN, "delay_per": "episode"},
}
every_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES.keys())
every_updater = pytest.mark.parametrize("updater", UPDATERS.values(), ids=UPDATERS.keys())
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())

EPISODES = 60 if JIT else 10
EXAMPLES = 3 if JIT else 1


@st.composite
def worlds(draw: st.DrawFn) -> bl.MDP:
    """Worlds of up to 5 states, 3 actions and 5 steps, the simplest of them not too simple."""
    world = random_world(
        np.random.default_rng(draw(st.integers(0, 2**32))),
        states=draw(st.sampled_from([3, 2, 4, 5, 1])),
        actions=draw(st.sampled_from([2, 3, 1])),
        horizon=draw(st.sampled_from([3, 2, 4, 5, 1])),
        homogeneous=draw(st.booleans()),
    )
    draws: Any = draw(st.sampled_from(["bernoulli", "beta", "deterministic"]))
    return dataclasses.replace(world, reward_draws=draws)


def a_world(horizon: int = 4) -> bl.MDP:
    """One with coins for rewards."""
    rng = np.random.default_rng(0)
    world = random_world(rng, states=4, actions=3, horizon=horizon, homogeneous=False)
    return dataclasses.replace(world, reward_draws="bernoulli")


def in_pieces(world: bl.MDP, kind: dict[str, Any]) -> bool:
    """Whether a learner hears of one episode at several times."""
    return kind["late"] == "rewards" or (kind["delay_per"] == "step" and world.shape.horizon > 1)


@pytest.mark.plain
@pytest.mark.parametrize(("base", "updater"), spread(BASES, UPDATERS, one_in=4))
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data(), world=worlds(), law=laws(), seed=st.integers(0, 99))
def test_every_way_to_run_gives_the_same_bits(
    base: Base, updater: Updater, data: st.DataObject, world: bl.MDP, law: Any, seed: int
) -> None:
    kinds = list(KINDS.values())
    if isinstance(updater, bl.MultiInstance):
        kinds = [kind for kind in kinds if not in_pieces(world, kind)]
    runs = every_way(
        world,
        base=base,
        updater=updater,
        delay=law,
        episodes=EPISODES,
        seed=seed,
        stages="each" if base.stepwise else data.draw(st.sampled_from(["each", "pooled"])),
        reward_bonus=data.draw(st.sampled_from(BONUSES)),
        **data.draw(st.sampled_from(kinds)),
    )
    assert all_agree(runs)


@every_kind
@pytest.mark.parametrize("bonus", BONUSES)
@settings(max_examples=2, deadline=None)
@given(
    world=worlds(),
    law=laws(),
    stages=st.sampled_from(["each", "pooled"]),
    updater=st.sampled_from([bl.Active(), bl.Lazy(1), bl.Lazy("auto")]),
)
def test_every_way_gives_the_same_bits_whatever_is_hoped_for(
    bonus: str, kind: dict[str, Any], world: bl.MDP, law: Any, stages: str, updater: Updater
) -> None:
    runs = every_way(
        world,
        base=bl.UCRL2(scale=0.2),
        updater=updater,
        delay=law,
        episodes=EPISODES,
        stages=stages,
        reward_bonus=bonus,
        **kind,
    )
    assert all_agree(runs)


LONGER: dict[str, Base] = {
    "psrl": bl.PSRL(resample="episode"),
    "q-learning": bl.QLearning(scale=0.01),
    "ucrl2": bl.UCRL2(scale=0.03),
}
"""Bases of longer runs."""


@pytest.mark.parametrize(("base", "kind"), spread(LONGER, KINDS, one_in=3))
def test_a_longer_run_gives_the_same_bits(base: Base, kind: dict[str, Any]) -> None:
    """Long enough for everything that grows to grow: counts, inbox and what is in flight."""
    given: dict[str, Any] = {
        "base": base,
        "updater": bl.Lazy(5),
        "delay": bl.delays.never(0.1, otherwise=bl.delays.geometric(40)),
        "episodes": 400,
        "every": 1,
        "trace": True,
        **kind,
    }
    world = dataclasses.replace(bl.chain(10), reward_draws="bernoulli")
    one = bl.simulate(world, engine="reference", **given)
    other = bl.simulate(world, engine="compiled", **given)
    assert difference(one, other) is None
    assert one.max_missing > 30


@every_kind
def test_every_way_chooses_the_same_alphas(kind: dict[str, Any]) -> None:
    """In a world so small that the best alpha is neither 1 nor infinite, and falls with delay."""
    rng = np.random.default_rng(1)
    world = random_world(rng, states=2, actions=2, horizon=2, homogeneous=False)
    world = dataclasses.replace(world, reward_draws="bernoulli")
    delay = bl.delays.geometric(2)
    given = {"base": bl.UCRL2(), "updater": bl.Lazy("auto"), "delay": delay, **kind}
    runs = every_way(world, **given, episodes=200)
    assert all_agree(runs)
    alpha: Any = runs["compiled full"].alpha
    assert alpha[0] > 1.8
    assert 1.1 < alpha.min() < 1.6
    assert 5 < len(set(alpha)) < 60


@pytest.mark.parametrize("base", [bl.PSRL(), bl.QLearning(scale=0.01)], ids=lambda base: base.name)
def test_every_way_chooses_the_same_alphas_for_bases_without_a_bound(base: Base) -> None:
    """They take the alpha of the widest bonus, which is finite in long runs only."""
    given: dict[str, Any] = {
        "base": base,
        "updater": bl.Lazy("auto"),
        "delay": bl.delays.geometric(5),
        "episodes": 2000,
        **KINDS["late rewards by step"],
    }
    one = bl.simulate(bl.chain(2), engine="reference", **given)
    other = bl.simulate(bl.chain(2), engine="compiled", **given)
    assert difference(one, other) is None
    alpha: Any = one.alpha
    assert 5 < alpha.min() < 15
    assert len(set(alpha)) > 5


def test_the_comparison_notices_a_base_that_samples_without_declaring_it() -> None:
    class Undeclared(bl.PSRL):
        def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
            return super().backup_rule(shape, episodes)._replace(samples=False)

    runs = every_way(
        a_world(), base=Undeclared(), updater=bl.Active(), episodes=40, **KINDS["late rewards"]
    )
    assert difference(runs["compiled full"], runs["compiled incremental"]) == "regret"


def test_the_length_of_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import belated.simulation.compiled_run as driver

    def runs() -> list[Run]:
        return [
            bl.simulate(
                a_world(),
                base=base,
                updater=bl.Lazy(2),
                delay=bl.delays.geometric(10),
                episodes=300,
                every=1,
                trace=True,
                **kind,
            )
            for base in (bl.QLearning(scale=0.01), bl.PSRL(resample="episode"), bl.UCRL2(scale=0.1))
            for kind in KINDS.values()
        ]

    usual = runs()
    monkeypatch.setattr(driver, "BLOCK_S", 0.0)  # one episode at a time
    assert [difference(*pair) for pair in zip(usual, runs(), strict=True)] == [None] * 18


# Where two settings mean the same


@every_kind
@every_base
def test_lazy_with_an_infinite_alpha_is_active(base: Base, kind: dict[str, Any]) -> None:
    if isinstance(base, bl.PSRL) and base.resample == "auto":
        base = dataclasses.replace(base, resample="update")  # auto tells lazy from active
    given = {"base": base, "delay": bl.delays.geometric(4), "episodes": EPISODES, **kind}
    active, lazy = (
        bl.simulate(a_world(), updater=updater, every=1, trace=True, **given)
        for updater in (bl.Active(), bl.Lazy(math.inf))
    )
    assert difference(active, lazy) is None


@every_updater
@every_base
def test_steps_that_are_equally_late_come_as_a_whole_episode(base: Base, updater: Updater) -> None:
    if isinstance(updater, bl.MultiInstance):
        updater = bl.Lazy(2)
    for kind in (KNOWN, UNKNOWN, REWARDS):
        whole, steps = (
            bl.simulate(
                a_world(),
                base=base,
                updater=updater,
                delay=bl.delays.constant(3),
                episodes=EPISODES,
                every=1,
                trace=True,
                delay_per=per,
                **kind,
            )
            for per in ("episode", "step")
        )
        assert difference(whole, steps) is None


@every_base
def test_rewards_that_are_not_late_are_as_good_as_everything_that_is_not(base: Base) -> None:
    for updater in (bl.Active(), bl.ExplicitExploration(threshold=4)):
        everything, rewards = (
            bl.simulate(
                a_world(),
                base=base,
                updater=updater,
                episodes=EPISODES,
                rewards=None,
                late=late,
                every=1,
                trace=True,
            )
            for late in ("everything", "rewards")
        )
        assert difference(everything, rewards) is None


@every_kind
def test_what_is_late_changes_neither_the_world_nor_the_delays(kind: dict[str, Any]) -> None:
    """A policy that never learns has the same regret and the same things in flight."""
    given: dict[str, Any] = {
        "base": UniformRandom(),
        "updater": bl.Active(),
        "delay": bl.delays.geometric(5),
        "episodes": 50,
        "every": 1,
    }
    one = bl.simulate(a_world(), **given, delay_per=kind["delay_per"])
    other = bl.simulate(a_world(), **given, **kind)
    assert np.array_equal(one.regret, other.regret)
    assert np.array_equal(one.in_flight, other.in_flight)
    assert (one.missing, one.mean_delay) == (other.missing, other.mean_delay)


# What is refused, or runs in the reference loop only


@pytest.mark.parametrize("name", ["late rewards by step", "late rewards", "unknown by step"])
def test_multi_instance_with_feedback_in_pieces_runs_in_the_reference_loop(
    name: str,
) -> None:
    given: dict[str, Any] = {
        "base": bl.UCRL2(scale=0.1),
        "updater": bl.MultiInstance(),
        "delay": bl.delays.geometric(4),
        "episodes": 30,
        "every": 1,
        "trace": True,
        **KINDS[name],
    }
    reason = "MultiInstance needs the feedback of an episode in one piece"
    with pytest.raises(
        ValueError,
        match=rf"^engine='compiled' is not possible: {reason}; use 'auto' or 'reference'\.$",
    ):
        bl.simulate(a_world(), engine="compiled", **given)
    with pytest.raises(
        ValueError, match=rf"^planning='none' needs the compiled engine, but {reason}\.$"
    ):
        bl.simulate(a_world(), planning="none", **given)
    with pytest.warns(UserWarning, match=rf"^Running the slower reference loop: {reason}\.$"):
        auto = bl.simulate(a_world(), **given)
    assert difference(auto, bl.simulate(a_world(), engine="reference", **given)) is None
    full = bl.simulate(a_world(), engine="reference", planning="full", **given)
    assert difference(auto, full) is None
    assert auto.instances > 1


def test_an_episode_of_one_step_has_no_pieces() -> None:
    given: dict[str, Any] = {
        "base": bl.UCRL2(scale=0.1),
        "updater": bl.MultiInstance(),
        "delay": bl.delays.geometric(4),
        "episodes": 30,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all_agree(every_way(a_world(horizon=1), **given, **KINDS["unknown by step"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"late": "rewards"},
            "late='rewards' needs unknown rewards, since known rewards are never delayed; use "
            "rewards=None.",
        ),
        ({"late": "states"}, "late must be one of 'everything', 'rewards', got 'states'."),
        ({"delay_per": "run"}, "delay_per must be one of 'episode', 'step', got 'run'."),
        (
            {"rewards": None, "reward_bonus": "chernoff"},
            "reward_bonus must be one of 'hoeffding', 'paper', 'jaksch', 'filippi', 'bernstein', "
            "'ubev', got 'chernoff'.",
        ),
        (
            {"base": bl.QLearning(), "stages": "pooled"},
            "stages must be 'each' for q-learning, which learns each step separately; "
            "got 'pooled'.",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"base": bl.UCRL2(), "updater": bl.Active(), "episodes": 5}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        bl.simulate(bl.chain(3), **{**given, **options})


@pytest.mark.parametrize("rewards", ["some", np.zeros((2, 2)), np.full((3, 2), 1.5)])
def test_rewards_that_make_no_sense_are_refused(rewards: Any) -> None:
    given: Any = {"base": bl.UCRL2(), "updater": bl.Active(), "episodes": 5}
    with pytest.raises(ValueError, match=r"^rewards must .*, got "):
        bl.simulate(bl.chain(3), **given, rewards=rewards)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_rewards_are_known_unknown_or_given_as_an_array(engine: Any) -> None:
    world = a_world()
    given: Any = {
        "base": bl.UCRL2(scale=0.1),
        "updater": bl.Active(),
        "delay": bl.delays.geometric(3),
        "episodes": 60,
        "every": 1,
        "trace": True,
        "engine": engine,
    }
    runs = {
        name: bl.simulate(world, rewards=rewards, **given)
        for name, rewards in {
            "known": "known",
            "table": world.reward_table(),
            "unknown": "unknown",
            "none": None,
            "wrong": 1 - world.reward_table(),
        }.items()
    }
    assert difference(runs["known"], runs["table"]) is None
    assert difference(runs["unknown"], runs["none"]) is None
    assert difference(runs["known"], runs["unknown"]) is not None
    assert difference(runs["known"], runs["wrong"]) is not None


SHORT = """
import dataclasses
import belated as bl
from belated.learner.bases import EpsilonGreedy
world = dataclasses.replace(bl.chain(4), reward_draws="beta")
world.rewards[:] = 0.1 + 0.7 * world.rewards
bases = (bl.PSRL(prior=0.2), bl.PSRL(resample="episode"), bl.QLearning(scale=0.05),
         bl.QLearning(bonus="bernstein", scale=0.1, ties="random"), EpsilonGreedy(epsilon=0.2),
         bl.UCRL2(scale=0.1), bl.KL_UCRL(scale=0.1))
for base in bases:
    for late, per in (("everything", "step"), ("rewards", "episode")):
        for updater, bonus in ((bl.Active(), "bernstein"), (bl.Lazy("auto"), "ubev")):
            run = bl.simulate(world, base=base, updater=updater, delay=bl.delays.geometric(3),
                              episodes=25, every=1, rewards=None, late=late, delay_per=per,
                              reward_bonus=bonus, trace=True)
            print(base.name, run.regret.tobytes().hex(), run.policies.tobytes().hex(), run.alpha,
                  run.updates, run.optimism_broken)
"""


def test_compiled_code_and_plain_python_agree_to_the_bit() -> None:
    lines = printed_compiled_and_plain(SHORT).splitlines()
    assert len({line for line in lines if line.startswith(("psrl", "q-"))}) > 12
