"""Runs that compute no values of states that cannot be reached have the same results."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.checks.backups import declares_reads
from belated.checks.samples import first_difference, random_world
from belated.compiled import JIT
from belated.learner.backup import Row, Stage, backup, mean
from belated.learner.bases import BackupRule
from belated.papers.howson2021.base import Published
from belated.simulation.reachable import find_reach, reachable
from belated.simulation.simulation import Simulation

BASES = {
    "published": Published(ties="random"),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.1),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.1),
    "two-term, monotone": bl.UCBVI_BF(preset="two_term", monotone=True, scale=0.03),
    "two-term, random ties": bl.UCBVI_BF(preset="two_term", ties="random", scale=0.03),
}


def reached_by_search(p: Any, start: int, *, any_step: bool) -> list[int]:
    """Return the result of `reachable`, computed state by state from dense probabilities."""
    H, S = p.shape[:2]
    states, found = {start}, []
    for h in range(H):
        found.append(max(states) + 1)
        steps = range(H) if any_step else [h]
        states = {y for g in steps for s in states for y in range(S) if p[g, s, :, y].any()}
    return [*found, max(found)]


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 5), st.integers(0, 99), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_reach_of_each_step_is_that_of_a_search(
    S: int, A: int, H: int, seed: int, any_step: bool
) -> None:
    random = np.random.default_rng(seed)
    follows = np.eye(S, dtype=bool)[random.integers(0, S, (H, S, A))]
    follows |= random.random((H, S, A, S)) < 0.1
    p = follows / follows.sum(axis=3, keepdims=True)
    start = int(random.integers(S))
    world = bl.MDP.dense(p, np.zeros((H, S, A)), start=start)
    expected = reached_by_search(p, start, any_step=any_step)
    assert reachable(world, any_step=any_step).tolist() == expected


@pytest.mark.parametrize("updater", ["active", "lazy:2", "explicit", "multi"])
@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize("name", BASES)
def test_runs_equal_those_that_compute_all_values(name: str, stages: Any, updater: str) -> None:
    worlds = [bl.chain(6), random_world(bl.Shape(6, 2, 4), 1, climbs=True)]
    for world in worlds:
        setting = Simulation(
            world=world,
            base=BASES[name],
            updater=updater,
            delay=bl.delays.geometric(3),
            episodes=150,
            stages=stages,
            every=1,
        )
        full = replace(setting, planning="full")
        for seed in (0, 1):
            assert first_difference(full.run(seed), setting.run(seed)) is None


@pytest.mark.skipif(not JIT, reason="plain Python computes no whole stages")
def test_the_reach_is_used_only_where_no_result_depends_on_other_states() -> None:
    def reach(base: bl.Base, stages: Any = "pooled") -> list[int]:
        world = bl.chain(4)
        setting = Simulation(world=world, base=base, updater=bl.Active(), episodes=9, stages=stages)
        return find_reach(world, setting.problem(0)).tolist()

    assert reach(bl.UCBVI_CH()) == reach(bl.UCBVI_CH(), "each") == [1, 2, 3, 4, 4]
    assert reach(Published()) == [1, 2, 3, 4, 4]
    assert reach(Published(), "each") == reach(bl.UBEV()) == reach(bl.PSRL()) == [4] * 5


def test_traces_contain_the_policy_of_all_states() -> None:
    setting = Simulation(
        world=bl.chain(5),
        base=bl.UCBVI_CH(scale=0.1),
        updater=bl.Active(),
        episodes=60,
        stages="pooled",
        trace=True,
    )
    reference = replace(setting, engine="reference").run(0)
    assert first_difference(reference, setting.run(0)) is None


@backup(elementwise=True)
def reads_top(constants: Any, stage: Stage, row: Row) -> float:
    """Return a value that depends on the largest one, which an elementwise backup must declare."""
    if row.n == 0:
        return row.reward + constants[0] * stage.top
    return row.reward + mean(stage, row) + constants[0] * stage.top / row.n


class ReadsTop(bl.Base):
    """Base that declares that it reads everything, although it reads the largest value."""

    name = "reads-top"

    def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
        return BackupRule(reads_top, np.array([self.scale]), reads="everything")


@pytest.mark.skipif(not JIT, reason="plain Python computes no whole stages")
def test_the_checks_find_an_elementwise_backup_that_reads_the_largest_value() -> None:
    with pytest.raises(AssertionError, match=r"reads stage\.top or stage\.low"):
        declares_reads(ReadsTop(), (bl.Shape(3, 2, 3),))
