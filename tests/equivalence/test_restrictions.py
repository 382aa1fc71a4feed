"""Terminal states and allowed actions: every way to run gives the same bits, as defined."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.compiled import JIT
from belated.learner.bases import Base, Fixed
from combinations import chosen, spread
from equivalence import test_definition, test_engines, test_late_ways
from equivalence.definition import Setting, differences
from ways import all_agree, difference, every_way
from worlds import laws, random_world, with_restrictions

BASES: dict[str, Any] = {**test_engines.BASES, **test_late_ways.BASES}
UPDATERS = test_late_ways.UPDATERS
KINDS = test_late_ways.KINDS
LONGER = {name: BASES[name] for name in ("ucrl2", "psrl episode", "q-learning", "epsilon-greedy")}
"""Bases of longer runs."""

EPISODES = 50 if JIT else 8
EXAMPLES = 2 if JIT else 1


@st.composite
def restricted_worlds(draw: st.DrawFn) -> bl.MDP:
    """Worlds with terminal states, allowed actions or both, and every way to draw rewards."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return with_restrictions(draw(test_late_ways.worlds()), rng)


@pytest.mark.plain
@pytest.mark.parametrize(("base", "updater"), spread(BASES, UPDATERS, one_in=4))
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data(), world=restricted_worlds(), law=laws(), seed=st.integers(0, 99))
def test_every_way_to_run_gives_the_same_bits(
    base: Base, updater: Any, data: st.DataObject, world: bl.MDP, law: Any, seed: int
) -> None:
    kinds = list(KINDS.values())
    if updater.multi_instance:
        kinds = [kind for kind in kinds if not test_late_ways.in_pieces(world, kind)]
    runs = every_way(
        world,
        base=base,
        updater=updater,
        delay=law,
        episodes=EPISODES,
        seed=seed,
        stages="each" if base.stepwise else data.draw(st.sampled_from(["each", "pooled"])),
        **data.draw(st.sampled_from(kinds)),
    )
    assert all_agree(runs)
    policies: Any = runs["compiled full"].policies
    steps, states = np.indices(world.shape.table[:2])
    follows = world.shape.available[steps, states, np.maximum(0, policies)] | (policies == -1)
    assert follows.all()


@pytest.mark.parametrize(("base", "kind"), spread(LONGER, KINDS, one_in=3))
def test_a_longer_run_gives_the_same_bits(base: Base, kind: dict[str, Any]) -> None:
    """Long enough for everything that grows to grow: counts, inbox and what is in flight."""
    rng = np.random.default_rng(14)
    world = random_world(rng, states=8, actions=3, horizon=6, homogeneous=False)
    world = with_restrictions(dataclasses.replace(world, reward_draws="bernoulli"), rng)
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
    one = bl.simulate(world, engine="reference", **arguments)
    other = bl.simulate(world, engine="compiled", **arguments)
    assert difference(one, other) is None
    assert one.max_missing > 30


def a_restricted_world(seed: int) -> bl.MDP:
    rng = np.random.default_rng([seed, 1])
    return with_restrictions(test_definition.a_world(seed, states=4, actions=3), rng)


@pytest.mark.parametrize(
    ("i", "j"), [pair for pair in test_definition.EVERY_PAIR if chosen(*pair.values, one_in=2)]
)
def test_every_base_under_every_updater_does_what_is_defined(i: int, j: int) -> None:
    base = list(test_definition.BASES.values())[i]
    updater = list(test_definition.UPDATERS.values())[j]
    for seed, mode in test_definition.modes(i, j):
        world = a_restricted_world(seed)
        if base.name == "fixed":
            base = Fixed(actions=world.shape.available.argmax(axis=2))
        law, episodes = test_definition.LAW, test_definition.EPISODES
        test_definition.check(Setting(world, base, updater, law, episodes, seed, **mode))


@pytest.mark.parametrize("updater", test_definition.EXPLORATION.values(), ids=str)
def test_every_rule_of_exploration_does_what_is_defined(updater: Any) -> None:
    law = bl.delays.uniform(3)
    for seed, mode in enumerate(test_definition.MODES):
        world, base = a_restricted_world(seed), test_definition.BASES["ucrl2"]
        test_definition.check(Setting(world, base, updater, law, 24, seed, **mode))


def test_the_definition_notices_restrictions_that_are_ignored() -> None:
    found: set[str] = set()
    for seed in range(8):
        world = a_restricted_world(seed)
        free = dataclasses.replace(world, shape=bl.Shape(4, 3, world.shape.horizon))
        setting = Setting(free, bl.UCRL2(scale=0.1), bl.Active(), test_definition.LAW, 24, seed)
        run = test_definition.check(setting)
        found.update(differences(dataclasses.replace(setting, world=world), run))
    assert {"policies", "regret", "in_flight"} <= found
