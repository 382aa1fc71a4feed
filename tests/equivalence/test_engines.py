"""One truth, every way: both engines and every way of planning give the same bits."""

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
from belated.learner.bases import (
    BackupRule,
    BaseAlgorithm,
    EpsilonGreedy,
    Optimal,
    UniformRandom,
)
from belated.learner.rewards import BONUSES
from belated.learner.updaters import Updater
from belated.papers.howson2021.base import Published
from belated.simulation.run import Run
from combinations import FULL, spread
from ways import all_agree, difference, every_way
from worlds import laws, random_world, with_restrictions

BASES: dict[str, BaseAlgorithm] = {
    "ubev": bl.UBEV(scale=0.1),
    "ubev span": bl.UBEV(scale=0.1, range="span"),
    "ubev monotone": bl.UBEV(scale=0.1, monotone=True),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.01),
    "ucbvi-ch H-h": bl.UCBVI_CH(scale=0.01, range="H-h", monotone=True),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.03),
    "ucbvi-bf ties": bl.UCBVI_BF(scale=0.03, ties="random"),
    "ucbvi-bf no_third": bl.UCBVI_BF(preset="no_third", scale=0.03),
    "ucbvi-bf two_term": bl.UCBVI_BF(preset="two_term", scale=0.03, monotone=True),
    "ucbvi-bf emp_bernstein": bl.UCBVI_BF(preset="emp_bernstein", scale=0.03),
    "ucbvi-bf simplified": bl.UCBVI_BF(preset="simplified_bernstein", scale=0.1),
    "ucrl2": bl.UCRL2(scale=0.1),
    "ucrl2 bonus": bl.UCRL2(scale=0.1, form="bonus", ties="random"),
    "ucrl2b": bl.UCRL2B(scale=0.03),
    "ucrl2b bonus": bl.UCRL2B(scale=0.03, form="bonus"),
    "kl-ucrl": bl.KL_UCRL(scale=0.1),
    "kl-ucrl bonus": bl.KL_UCRL(scale=0.1, form="bonus"),
    "chi2-ucrl": bl.Chi2_UCRL(scale=0.01),
    "chi2-ucrl bonus": bl.Chi2_UCRL(scale=0.01, form="bonus", ties="random"),
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
    "batched": bl.Batched(),
    "scheduled": bl.Scheduled(5),
    "matured batched": bl.Matured(bl.Batched([2, 5]), age=4),
    "matured active": bl.Matured(bl.Active(), age=7),
}
PAIRS = [
    pair
    for pair in spread(BASES, UPDATERS, one_in=6)
    if not pair.values[0].replans_every_episode(pair.values[1])
    or not ("batched" in pair.id or "scheduled" in pair.id)
]
"""Pairs of a base and an updater; a base that plans for every episode needs no batches."""

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
SOME_BASES = {
    name: BASES[name]
    for name in (
        *("psrl update", "psrl episode", "rlsvi K", "q-learning", "q-learning bernstein"),
        *("epsilon-greedy ties", "random", "optimal", "ucrl2", "ubev monotone", "ucbvi-bf ties"),
    )
}

EPISODES = 40 if JIT else 10
EXAMPLES = (8 if FULL else 2) if JIT else 1


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


@st.composite
def restricted_worlds(draw: st.DrawFn) -> bl.MDP:
    """Worlds with terminal states, allowed actions or both, and every way to draw rewards."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return with_restrictions(draw(worlds()), rng)


def a_world(horizon: int = 4) -> bl.MDP:
    """One with coins for rewards."""
    rng = np.random.default_rng(0)
    world = random_world(rng, states=4, actions=3, horizon=horizon, homogeneous=False)
    return dataclasses.replace(world, reward_draws="bernoulli")


def in_pieces(world: bl.MDP, kind: dict[str, Any]) -> bool:
    """Whether a learner hears of one episode at several times."""
    return kind["late"] == "rewards" or (kind["delay_per"] == "step" and world.shape.horizon > 1)


@pytest.mark.plain
@pytest.mark.parametrize(("base", "updater"), PAIRS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    data=st.data(),
    world=st.one_of(worlds(), restricted_worlds()),
    law=laws(),
    seed=st.integers(0, 99),
)
def test_every_way_to_run_gives_the_same_bits(
    base: BaseAlgorithm, updater: Any, data: st.DataObject, world: bl.MDP, law: Any, seed: int
) -> None:
    kinds = list(KINDS.values())
    if updater.multi_instance:
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
    policies: Any = runs["compiled full"].policies
    steps, states = np.indices(world.shape.table[:2])
    follows = world.shape.available[steps, states, np.maximum(0, policies)] | (policies == -1)
    assert follows.all()


# Longer runs, in which counts, the inbox and the queue grow


@pytest.mark.parametrize(
    ("base", "updater", "stages"),
    [("ucbvi-bf two_term", bl.Active(), "pooled"), ("ucrl2", bl.Lazy(10), "each")],
)
def test_a_longer_run_plans_the_same_from_what_changed(
    base: str, updater: Updater, stages: str
) -> None:
    runs = {
        planning: bl.simulate(
            bl.chain(24),
            base=dataclasses.replace(BASES[base], scale=0.03),  # type: ignore[call-arg]
            updater=updater,
            delay=bl.delays.geometric(20),
            episodes=2000,
            seed=5,
            every=1,
            stages=stages,  # type: ignore[arg-type]
            planning=planning,  # type: ignore[arg-type]
            trace=True,
        )
        for planning in ("full", "incremental")
    }
    assert all_agree(runs)
    assert runs["full"].updates > 20


LONGER = {name: BASES[name] for name in ("psrl episode", "q-learning", "ucrl2", "epsilon-greedy")}


@pytest.mark.parametrize("restricted", [False, True], ids=["", "restricted"])
@pytest.mark.parametrize(("base", "kind"), spread(LONGER, KINDS, one_in=6))
def test_a_longer_run_gives_the_same_bits(
    base: BaseAlgorithm, kind: dict[str, Any], restricted: bool
) -> None:
    world = bl.chain(10)
    if restricted:
        rng = np.random.default_rng(14)
        world = random_world(rng, states=8, actions=3, horizon=6, homogeneous=False)
        world = with_restrictions(world, rng)
        assert world.shape.terminal
        assert world.shape.allowed is not None
    arguments: dict[str, Any] = {
        "base": base,
        "updater": bl.Lazy(5),
        "delay": bl.delays.never(0.1, otherwise=bl.delays.geometric(40)),
        "episodes": 400,
        "every": 1,
        "trace": True,
        **kind,
    }
    world = dataclasses.replace(world, reward_draws="bernoulli")
    one = bl.simulate(world, engine="reference", **arguments)
    other = bl.simulate(world, engine="compiled", **arguments)
    assert difference(one, other) is None
    assert one.max_missing > 30


@pytest.mark.parametrize("draw", ["all", "rare"])
@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("base", [Published(ties="random"), bl.UCRL2(scale=0.1, ties="random")])
def test_actions_that_are_not_chosen_while_a_state_is_explored_change_no_bit(
    base: Any, pooled: bool, draw: str
) -> None:
    updater = bl.ExplicitExploration(threshold=9, pooled=pooled, draw=draw)  # type: ignore[arg-type]
    setting = {"base": base, "updater": updater, "delay": "geometric:5", "stages": "pooled"}
    runs = every_way(bl.chain(3), episodes=250, seed=3, **setting)
    assert all_agree(runs)
    explored: Any = runs["compiled incremental"].policies
    assert (explored[0] < 0).all()
    assert not explored[-1, 0, 0] < 0


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
            for kind in (KINDS["late rewards by step"], KINDS["known"])
        ]

    usual = runs()
    monkeypatch.setattr(driver, "BLOCK_S", 0.0)  # one episode at a time
    assert [difference(*pair) for pair in zip(usual, runs(), strict=True)] == [None] * 6


# The comparison can fail


def test_the_comparison_notices_a_base_that_reads_more_than_it_declares() -> None:
    class Secretive(bl.Chi2_UCRL):
        def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
            rule = super().backup_rule(shape, episodes)
            assert rule.reads == "everything"
            return rule._replace(reads="successors")

    found = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        runs = every_way(
            random_world(rng, states=5, actions=3, horizon=5, homogeneous=True),
            base=Secretive(scale=0.01, form="bonus"),
            updater=bl.Active(),
            episodes=EPISODES,
            seed=seed,
        )
        found.add(difference(runs["compiled full"], runs["compiled incremental"]))
    assert found - {None}


def test_the_comparison_notices_a_base_that_samples_without_declaring_it() -> None:
    class Undeclared(bl.PSRL):
        def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
            return super().backup_rule(shape, episodes)._replace(samples=False)

    runs = every_way(
        a_world(), base=Undeclared(), updater=bl.Active(), episodes=40, **KINDS["late rewards"]
    )
    assert difference(runs["compiled full"], runs["compiled incremental"]) == "regret"


# Where two settings mean the same


def same_runs(settings: list[dict[str, Any]], **given: Any) -> bool:
    """Whether the runs with each of the `settings`, and all of `given`, have the same bits."""
    options = {"episodes": EPISODES, "every": 1, "trace": True, **given}
    one, *others = (bl.simulate(a_world(), **options, **setting) for setting in settings)
    return all(difference(one, other) is None for other in others)


@pytest.mark.parametrize(("base", "kind"), spread(SOME_BASES, KINDS, one_in=3))
def test_lazy_with_an_infinite_alpha_is_active(base: Any, kind: dict[str, Any]) -> None:
    settings = [{"updater": bl.Active()}, {"updater": bl.Lazy(math.inf)}]
    assert same_runs(settings, base=base, delay=bl.delays.geometric(4), **kind)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_rewards_are_known_unknown_or_given_as_an_array(engine: Any) -> None:
    means = a_world().reward_table()
    given = {"base": bl.UCRL2(scale=0.1), "updater": bl.Active(), "delay": "geometric:3"}
    given["engine"] = engine
    known, unknown = {"rewards": "known"}, {"rewards": "unknown"}
    assert same_runs([known, {"rewards": means}], **given)
    assert same_runs([unknown, {"rewards": None}], **given)
    assert not same_runs([known, unknown], **given)
    assert not same_runs([known, {"rewards": 1 - means}], **given)


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
