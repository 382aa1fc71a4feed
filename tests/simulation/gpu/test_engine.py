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
from belated.simulation.gpu import engine, kernel
from belated.simulation.gpu.batch import Batch
from belated.simulation.gpu.kinds import why_not_on_gpu
from belated.simulation.simulation import Simulation
from gpus import SIMULATED, assert_same_on_gpu, needs_gpu, size
from worlds import laws, random_world, with_restrictions, worlds

pytestmark = needs_gpu


EPISODES = size(25, 400)
PUBLISHED: dict[str, Any] = {"base": Published(ties="random"), "stages": "pooled"}

BASES = {
    "ubev": bl.UBEV(scale=0.1),
    "ubev span": bl.UBEV(scale=0.1, range="span"),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.01),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.03, ties="random"),
    "ucbvi-bf two_term": bl.UCBVI_BF(preset="two_term", scale=0.03, monotone=True),
    "ucbvi-bf emp_bernstein": bl.UCBVI_BF(preset="emp_bernstein", scale=0.03),
    "ucrl2": bl.UCRL2(scale=0.1),
    "ucrl2 bonus": bl.UCRL2(scale=0.1, form="bonus", ties="random"),
    "ucrl2b": bl.UCRL2B(scale=0.03),
    "ucrl2b bonus": bl.UCRL2B(scale=0.03, form="bonus"),
    "kl-ucrl": bl.KL_UCRL(scale=0.1),
    "kl-ucrl bonus": bl.KL_UCRL(scale=0.1, form="bonus"),
    "chi2-ucrl": bl.Chi2_UCRL(scale=0.01),
    "chi2-ucrl bonus": bl.Chi2_UCRL(scale=0.01, form="bonus", ties="random"),
    "psrl": bl.PSRL(prior=0.5),
    "psrl update": bl.PSRL(resample="update"),
    "rlsvi": bl.RLSVI(scale=0.1),
    "rlsvi clipped": bl.RLSVI(0.2, k="K", clip=True, resample="update"),
    "epsilon-greedy": bl.EpsilonGreedy(epsilon=0.2),
    "random": bl.UniformRandom(),
    "optimal": bl.Optimal(),
}
UPDATERS = {
    "active": bl.Active(),
    "lazy": bl.Lazy(2),
    "explicit": bl.ExplicitExploration(threshold=7),
    "explicit by state": bl.ExplicitExploration(threshold=7, unit="sh", pooled=False),
    "explicit rare": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
}


@pytest.mark.parametrize("updater", ["active", "lazy:2", "explicit"])
@pytest.mark.parametrize(
    "delay", ["constant:0", "constant:4", "uniform:3", "poisson:3", "geometric:4"]
)
def test_the_learners_of_the_paper_have_the_same_bits(updater: str, delay: str) -> None:
    assert_same_on_gpu("chain-4", **PUBLISHED, updater=updater, delay=delay, episodes=EPISODES)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES.keys())
def test_every_base_has_the_same_bits(base: Base) -> None:
    world = random_world(np.random.default_rng(3), states=4, actions=3, horizon=3, homogeneous=True)
    options = {"base": base, "delay": "geometric:3", "episodes": EPISODES}
    assert_same_on_gpu(world, **options, updater="active", seeds=(1,))


@pytest.mark.parametrize("updater", UPDATERS.values(), ids=UPDATERS.keys())
@pytest.mark.parametrize("base", [bl.UCBVI_CH(scale=0.01), bl.EpsilonGreedy(epsilon=0.3)])
@pytest.mark.parametrize("stages", ["each", "pooled"])
@settings(max_examples=size(1, 6), deadline=None)
@given(world=worlds(), law=laws(), seed=st.integers(0, 99))
def test_random_worlds_have_the_same_bits(
    base: Base, updater: Updater, stages: str, world: bl.MDP, law: Law, seed: int
) -> None:
    options = {"base": base, "updater": updater, "delay": law, "stages": stages}
    assert_same_on_gpu(world, **options, episodes=size(15, 150), seeds=(seed,))


@pytest.mark.parametrize("updater", UPDATERS.values(), ids=UPDATERS.keys())
@pytest.mark.parametrize("seed", range(size(2, 8)))
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


def test_counts_in_global_memory_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MAX_COUNTS_BYTES", 0)
    monkeypatch.setattr(kernel, "MAX_ROWS_BYTES", 0)
    kernel.build_kernel.cache_clear()
    options = {"updater": "explicit", "delay": "geometric:4"}
    assert_same_on_gpu("chain-4", **PUBLISHED, **options, episodes=EPISODES)
    kernel.build_kernel.cache_clear()


def next_batch(numbers: Any, delays: Any) -> Any:
    """Deliver feedback after every fifth episode."""
    return delays + -(numbers + delays) % 5


def test_a_law_that_depends_on_the_episode_is_drawn_by_the_host() -> None:
    law = bl.delays.with_calendar(bl.delays.geometric(3), next_batch, name="weekly", period=5)
    assert_same_on_gpu(
        "chain-3", base=bl.UCBVI_CH(scale=0.1), updater="active", delay=law, episodes=EPISODES
    )


def test_slices_and_batches_do_not_affect_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_BUDGET", 40)
    monkeypatch.setattr(engine, "SLICE_S", 1e-9)
    options = {**PUBLISHED, "updater": "lazy:5", "delay": "uniform:3", "episodes": 30}
    job = engine.make_jobs(Simulation(world=bl.world("chain-3"), **options), [0])[0]
    monkeypatch.setattr(engine, "free_memory", lambda: 3 * job.bytes)
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


def test_a_batch_starts_only_if_the_gpu_has_room_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Simulation(world=bl.world("chain-3"), **PUBLISHED, updater="active", episodes=12)
    monkeypatch.setattr(kernel.Kind, "gpu_share", 0.2)
    jobs = engine.make_jobs(setting, range(6))
    launched: list[Batch] = []
    launch = Batch.launch

    def watch(batch: Batch, budget: int) -> None:
        launched.append(batch)
        assert sum(one.gpu_share for one in launched if not one.finished) <= 1.0
        launch(batch, budget)

    monkeypatch.setattr(Batch, "launch", watch)
    engine.run_jobs(jobs, lambda batch, before: None)
    assert [len(batch.jobs) for batch in launched] == [2, 2, 2]
    for job in jobs:
        assert job.run is not None
        assert (job.run.regret == setting.run(job.seed).regret).all()


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
