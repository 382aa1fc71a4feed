"""One truth, three ways: the reference loop, compiled code, and planning only what changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.compiled import JIT
from belated.delays.laws import Law
from belated.learner.bases import OPTIMISTIC, BackupRule, Base
from belated.learner.updaters import Updater
from belated.papers.howson2021.base import Published
from belated.simulation.run import Run
from combinations import FULL, spread
from ways import all_agree, difference, every_way, printed_compiled_and_plain
from worlds import laws, random_world, worlds

BASES = {
    "ubev": bl.UBEV(scale=0.1),
    "ubev span": bl.UBEV(scale=0.1, range="span"),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.01),
    "ucbvi-ch H-h": bl.UCBVI_CH(scale=0.01, range="H-h", monotone=True),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.03),
    "ucbvi-bf pooled ties": bl.UCBVI_BF(scale=0.03, ties="random"),
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
}
UPDATERS = {
    "active": bl.Active(),
    "lazy 1": bl.Lazy(1),
    "lazy 3": bl.Lazy(3),
    "explicit": bl.ExplicitExploration(threshold=7),
    "explicit by state": bl.ExplicitExploration(threshold=7, unit="sh", pooled=False),
    "explicit rare": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
    "multi": bl.MultiInstance(),
    "batched": bl.Batched(),
    "scheduled": bl.Scheduled(5),
    "matured batched": bl.Matured(bl.Batched([2, 5]), age=4),
    "matured active": bl.Matured(bl.Active(), age=7),
}
EPISODES = 60 if JIT else 12
EXAMPLES = (8 if FULL else 4) if JIT else 1


@pytest.mark.plain
@pytest.mark.parametrize(("base", "updater"), spread(BASES, UPDATERS, one_in=3))
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    world=worlds(), law=laws(), stages=st.sampled_from(["each", "pooled"]), seed=st.integers(0, 99)
)
def test_every_way_to_run_gives_the_same_bits(
    base: Base, updater: Updater, world: bl.MDP, law: Law, stages: str, seed: int
) -> None:
    runs = every_way(
        world, base=base, updater=updater, delay=law, episodes=EPISODES, stages=stages, seed=seed
    )
    assert all_agree(runs)


@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize("updater", [bl.Active(), bl.Lazy(10)], ids=["active", "lazy"])
@pytest.mark.parametrize(
    "base", [bl.UCBVI_BF(preset="two_term", scale=0.03), bl.UCRL2(scale=0.03)], ids=["bf", "ucrl2"]
)
def test_a_longer_run_on_the_chain_gives_the_same_bits(
    base: Base, updater: Updater, stages: str
) -> None:
    runs = {
        planning: bl.simulate(
            bl.chain(24),
            base=base,
            updater=updater,
            delay=bl.delays.geometric(20),
            episodes=2000,
            seed=5,
            every=1,
            stages=stages,  # type: ignore[arg-type]
            planning=planning,  # type: ignore[arg-type]
            trace=True,
        )
        for planning in ("full", "incremental", "auto")
    }
    assert all_agree(runs)
    assert runs["full"].updates > 20


@pytest.mark.parametrize("draw", ["all", "rare"])
@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("base", [Published(ties="random"), bl.UCRL2(scale=0.1, ties="random")])
def test_actions_that_are_not_chosen_while_a_state_is_explored_change_no_bit(
    base: Base, pooled: bool, draw: str
) -> None:
    updater = bl.ExplicitExploration(threshold=9, pooled=pooled, draw=draw)
    setting = {"base": base, "updater": updater, "delay": "geometric:5", "stages": "pooled"}
    runs = every_way(bl.chain(3), episodes=250, seed=3, **setting)
    assert all_agree(runs)
    explored = runs["compiled auto"].policies < 0
    assert explored[0].all()
    assert not explored[-1, 0, 0]


def test_regret_is_the_sum_of_the_exact_gaps_of_the_policies_played() -> None:
    world = random_world(
        np.random.default_rng(1), states=4, actions=3, horizon=4, homogeneous=False
    )
    world = bl.MDP.dense(world.transition_table(), world.reward_table(), start=2)
    run = bl.simulate(
        world,
        base=bl.UCRL2(scale=0.1),
        updater=bl.Active(),
        delay=bl.delays.poisson(3),
        episodes=200,
        every=1,
        trace=True,
    )
    assert run.policies is not None
    best = bl.optimal_value(world)
    gaps = [best - bl.policy_value(world, policy) for policy in run.policies]
    assert run.regret == pytest.approx(np.cumsum(gaps), abs=1e-12)
    assert run.total_regret > 0


def test_the_comparison_notices_a_base_that_reads_more_than_it_declares() -> None:
    class Secretive(bl.Chi2_UCRL):
        def backup_rule(self, shape: bl.Shape, episodes: int) -> BackupRule:
            rule = super().backup_rule(shape, episodes)
            assert rule.reads == "everything"
            return rule._replace(reads="successors")

    found = set()
    for seed in range(20):
        world = random_world(
            np.random.default_rng(seed), states=5, actions=3, horizon=5, homogeneous=True
        )
        runs = every_way(
            world, base=Secretive(scale=0.01, form="bonus"), updater=bl.Active(), episodes=EPISODES, seed=seed
        )
        found.add(difference(runs["compiled full"], runs["compiled incremental"]))
    assert found - {None}


def test_the_length_of_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import belated.simulation.compiled_run as driver

    def run() -> Run:
        return bl.simulate(
            bl.chain(6),
            base=bl.UBEV(scale=0.1),
            updater=bl.Lazy(2),
            delay=bl.delays.geometric(10),
            episodes=500,
            every=1,
            trace=True,
        )

    usual = run()
    monkeypatch.setattr(driver, "BLOCK_S", 0.0)  # one episode at a time
    assert difference(usual, run()) is None


SHORT = """
import belated as bl
from belated.learner.bases import OPTIMISTIC
for base in OPTIMISTIC.values():
    run = bl.simulate(bl.chain(4), base=base(scale=0.1, ties="random"), updater=bl.Lazy(2),
                      delay=bl.delays.geometric(3), episodes=40, every=1)
    print(base.name, run.regret.tobytes().hex(), run.updates)
"""


def test_compiled_code_and_plain_python_agree_to_the_bit() -> None:
    assert printed_compiled_and_plain(SHORT).count("\n") == len(OPTIMISTIC)
