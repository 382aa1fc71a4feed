"""The GPU engine gives the runs of the compiled engine, to the bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.delays.laws import Law
from belated.learner.bases import Base
from belated.learner.updaters import Updater
from belated.papers.howson2021.base import Published
from belated.simulation.gpu import engine
from belated.simulation.gpu.kinds import why_not_on_gpu
from belated.simulation.many import Interrupted
from belated.simulation.run import RunSoFar
from belated.simulation.simulation import Simulation
from combinations import spread
from gpus import BASES, SIMULATED, UPDATERS, assert_same_on_gpu, needs_gpu, size
from worlds import laws, random_world, with_restrictions, worlds

pytestmark = needs_gpu


EPISODES = size(15, 400)
PUBLISHED: dict[str, Any] = {"base": Published(ties="random"), "stages": "pooled"}
TWO = {"ucbvi-ch": bl.UCBVI_CH(scale=0.01), "epsilon-greedy": bl.EpsilonGreedy(epsilon=0.3)}
STAGES = {name: name for name in ("each", "pooled")}


@pytest.mark.parametrize(
    ("updater", "delay"),
    [
        ("active", "constant:0"),
        ("lazy:2", "constant:4"),
        ("explicit", "uniform:3"),
        ("active", "poisson:3"),
        ("lazy:2", "geometric:4"),
    ],
)
def test_the_learners_of_the_paper_have_the_same_bits(updater: str, delay: str) -> None:
    assert_same_on_gpu("chain-4", **PUBLISHED, updater=updater, delay=delay, episodes=EPISODES)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES.keys())
def test_every_base_has_the_same_bits(base: Base) -> None:
    world = random_world(np.random.default_rng(3), states=4, actions=3, horizon=3, homogeneous=True)
    options = {"base": base, "delay": "geometric:3", "episodes": EPISODES}
    assert_same_on_gpu(world, **options, updater="active", seeds=(1,))


@pytest.mark.parametrize(("updater", "base", "stages"), spread(UPDATERS, TWO, STAGES, one_in=2))
@settings(max_examples=size(1, 6), deadline=None)
@given(world=worlds(), law=laws(), seed=st.integers(0, 99))
def test_random_worlds_have_the_same_bits(
    updater: Updater, base: Base, stages: str, world: bl.MDP, law: Law, seed: int
) -> None:
    options = {"base": base, "updater": updater, "delay": law, "stages": stages}
    assert_same_on_gpu(world, **options, episodes=size(15, 150), seeds=(seed,))


@pytest.mark.parametrize("updater", UPDATERS.values(), ids=UPDATERS.keys())
@pytest.mark.parametrize("seed", range(size(1, 8)))
def test_terminal_states_and_forbidden_actions_have_the_same_bits(
    updater: Updater, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = {"states": 4, "actions": 3, "horizon": 4}
    world = with_restrictions(random_world(rng, **sizes, homogeneous=seed % 2 == 0), rng)
    for base in (bl.UCRL2(scale=0.1, ties="random"), bl.EpsilonGreedy(epsilon=0.3)):
        options = {"base": base, "updater": updater, "delay": "geometric:3"}
        assert_same_on_gpu(world, **options, episodes=size(15, 200), seeds=(seed,))


@bl.backup
def own_backup(constants: Any, stage: Any, row: Any) -> float:
    """Backup of a user, with a loop over the order of the states."""
    if row.n == 0:
        return stage.top + row.reward
    total = 0.0
    for rank in range(stage.order.size):
        total = total / 2.0 + stage.v[stage.order[rank]]
    return min(float(stage.horizon), row.reward + constants[0] * total / row.n)


class OwnBase(Base):
    """Base of a user."""

    name = "own"

    def backup_rule(self, shape: bl.Shape, episodes: int) -> bl.BackupRule:
        return bl.BackupRule(own_backup, np.array([0.5]), reads="order")


def test_a_backup_of_a_user_has_the_same_bits() -> None:
    assert_same_on_gpu(
        "riverswim-4", base=OwnBase(), updater="active", delay="geometric:3", episodes=EPISODES
    )


def next_batch(numbers: Any, delays: Any) -> Any:
    """Deliver feedback after every fifth episode."""
    return delays + -(numbers + delays) % 5


def test_a_law_that_depends_on_the_episode_is_drawn_by_the_host() -> None:
    law = bl.delays.with_calendar(bl.delays.geometric(3), next_batch, name="weekly", period=5)
    assert_same_on_gpu(
        "chain-3", base=bl.UCBVI_CH(scale=0.1), updater="active", delay=law, episodes=EPISODES
    )


def test_slices_and_batches_do_not_affect_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_SHARE", 0.3)
    monkeypatch.setattr(engine, "SLICE_S", 1e-9)
    options = {**PUBLISHED, "updater": "lazy:5", "delay": "uniform:3", "episodes": 30}
    jobs = engine.make_jobs(Simulation(world=bl.world("chain-3"), **options), [0])
    engine.draw_all_delays(jobs)
    monkeypatch.setattr(engine, "free_memory", lambda: 3 * jobs[0].bytes)
    assert_same_on_gpu("chain-3", **options, seeds=(0, 1, 2, 3))


def test_runs_of_different_settings_share_the_gpu() -> None:
    settings = [
        Simulation(
            world=bl.world(world), **PUBLISHED, updater=updater, delay=delay, episodes=episodes
        )
        for world, updater, delay, episodes in (
            ("chain-3", "active", "geometric:3", 20),
            ("chain-3", "lazy:4", "constant:2", 33),
            ("chain-4", "active", "poisson:3", 12),
            ("chain-3-right", "explicit", "uniform:2", 20),
        )
    ]
    jobs = [job for setting in settings for job in engine.make_jobs(setting, [2, 3])]
    engine.run_jobs(jobs, lambda batch, before: None)
    assert len(engine.group_jobs(jobs)) == 4
    for job in jobs:
        expected = job.prepared.setting.run(job.seed)
        assert job.run is not None
        assert (job.run.regret == expected.regret).all()
        assert job.run.updates == expected.updates


def test_a_run_that_does_not_fit_into_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "free_memory", lambda: 100)
    with pytest.raises(MemoryError, match="bytes on the GPU, but only 100 are free"):
        bl.simulate("chain-3", engine="gpu", base="ucbvi-ch", updater="active", episodes=5)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"base": "q-learning"}, "learns from single steps"),
        ({"updater": "multi"}, "several instances are used"),
        ({"updater": "lazy:auto"}, "alpha is 'auto'"),
        ({"rewards": "unknown"}, "rewards are unknown"),
        ({"delay_per": "step"}, "each step has its own delay"),
        ({"delay": "by_action:0=constant:1,1=constant:2"}, "delays depend on the episode"),
        ({"trace": True}, "policies are traced"),
    ],
)
def test_what_the_gpu_does_not_support_is_an_error(options: dict[str, Any], reason: str) -> None:
    given = {"base": "ucbvi-ch", "updater": "active", "episodes": 5, **options}
    with pytest.raises(ValueError, match=f"engine='gpu' is not possible: .*{reason}"):
        bl.simulate("chain-3", engine="gpu", **given)


def test_a_backup_with_a_logarithm_of_the_platform_does_not_run_on_the_gpu() -> None:
    import math

    @bl.backup
    def inexact(constants: Any, stage: Any, row: Any) -> float:
        return math.log(1.0 + row.n) ** 2

    class Inexact(Base):
        name = "inexact"

        def backup_rule(self, shape: bl.Shape, episodes: int) -> bl.BackupRule:
            return bl.BackupRule(inexact, np.zeros(1))

    setting = Simulation(world=bl.world("chain-3"), base=Inexact(), updater="active", episodes=5)
    reason = why_not_on_gpu(setting)
    assert reason == "the backup of Inexact uses **, log, whose last bit differs on a GPU"


@pytest.mark.skipif(SIMULATED, reason="the simulator has one kernel at a time")
def test_many_runs_have_the_same_bits() -> None:
    for updater in ("active", "lazy:10", "explicit"):
        options = {**PUBLISHED, "updater": updater, "delay": "geometric:100"}
        assert_same_on_gpu("chain-20", **options, episodes=3000, seeds=tuple(range(20)))


OPTIONS = {
    "base": "ucbvi-ch:scale=0.1",
    "updater": "lazy:3",
    "delay": "geometric:3",
    "episodes": size(30, 300),
    "every": 10,
}


def test_runs_are_returned_in_the_order_of_their_seeds() -> None:
    runs = bl.simulate_many("chain-3", engine="gpu", seeds=[3, 0, 2], **OPTIONS)
    assert [run.seed for run in runs] == [3, 0, 2]


def test_every_checkpoint_is_reported_once_with_its_regret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_SHARE", 0.2)
    seen: list[RunSoFar] = []
    runs = bl.simulate_many(
        "chain-3", engine="gpu", seeds=[0, 1], on_checkpoint=seen.append, **OPTIONS
    )
    for run in runs:
        own = [one for one in seen if one.seed == run.seed]
        assert [one.episode for one in own] == run.episode.tolist()
        assert [one.regret for one in own] == run.regret.tolist()


def test_an_interruption_stops_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_SHARE", 0.2)

    def interrupt(checkpoint: RunSoFar) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="0 of 2 runs were finished"):
        bl.simulate_many("chain-3", engine="gpu", seeds=[0, 1], on_checkpoint=interrupt, **OPTIONS)
