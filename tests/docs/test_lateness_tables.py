"""The estimates of docs/lateness-that-tells.md."""

import numpy as np
import pytest

import belated as bl
import lateness_bias
import lateness_tables
from belated.episode import Episode
from belated.sweep.study import read_study


def test_the_regrets_of_a_setting_come_out_again() -> None:
    stored = lateness_tables.regrets_by_setting()
    delay = "by_return:0=uniform:50,0.5=constant:0"
    [cell] = [
        cell
        for cell in read_study(lateness_tables.STUDIES[0]).cells()
        if (cell.world, cell.base, cell.delay, cell.updater, cell.seeds[0])
        == ("chain-5", "ucrl2", delay, lateness_tables.MATURED, 0)
    ]
    runs = [cell.build().run(seed).total_regret for seed in cell.seeds]
    assert stored["chain-5", "ucrl2", delay, cell.updater][:5] == pytest.approx(runs, rel=1e-4)


@pytest.mark.parametrize(
    ("study", "world", "base"),
    [
        ("lateness-that-tells", "chain-5", "ucrl2"),
        ("lateness-that-tells-icu", "icu-sepsis-5", "ucrl2"),
    ],
)
def test_the_bias_of_a_run_comes_out_again(study: str, world: str, base: str) -> None:
    task = next(
        task
        for task in lateness_tables.bias_tasks(study)
        if (task.world, task.label, task.seed) == (world, base, 0)
    )
    delay, updater = task.settings[0]
    curve = task.setting(delay, updater).curve(task.seed)
    stored = lateness_tables.bias_by_setting()[world, delay, base, updater]
    assert curve == pytest.approx(stored[0], abs=1e-4)


def test_the_estimated_value_is_the_mean_return_of_a_policy_that_was_always_played() -> None:
    world = bl.chain(2)
    policy = np.ones((2, 2), np.int32)
    good = Episode(1, [0, 1, 1], [1, 1], [0.0, 1.0])
    bad = Episode(2, [0, 0, 1], [1, 1], [0.0, 0.0])
    truth = bl.policy_value(world, bl.Policy(policy))
    assert lateness_bias.estimated_value(world, policy, []) == pytest.approx(truth)
    assert lateness_bias.estimated_value(world, policy, [good, good, good, bad]) == 0.75


def test_pooled_averages_are_over_all_steps_and_nothing_follows_a_terminal_state() -> None:
    to_the_end = np.array([[[0.5, 0.5]], [[0.0, 1.0]]])  # state 1 is terminal
    world = bl.MDP.dense(to_the_end, [[0.2], [0.0]], horizon=2, terminal=[1])
    policy = np.zeros((2, 2), np.int32)
    ended = Episode(1, [0, 1], [0], [1.0])
    stayed = Episode(2, [0, 0, 0], [0, 0], [0.0, 0.0])
    # pooled: mean reward 1/3, and state 0 follows with 2/3; each: 1/2 and 1/2, then 0
    for stages, value in (("pooled", 1 / 3 + 2 / 3 * 1 / 3), ("each", 1 / 2)):
        found = lateness_bias.estimated_value(world, policy, [ended, stayed], stages)
        assert found == pytest.approx(value)
