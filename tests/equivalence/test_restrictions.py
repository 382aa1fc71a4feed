"""Terminal states and allowed actions: what is simulated is what is defined."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases import Fixed
from combinations import chosen
from equivalence import test_definition
from equivalence.definition import Setting, differences
from worlds import with_restrictions


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
