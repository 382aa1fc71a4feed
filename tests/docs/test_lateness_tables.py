"""The numbers of docs/lateness-that-tells.md come from its studies and its script."""

from pathlib import Path

import numpy as np
import pytest

import belated as bl
import lateness_bias
import lateness_tables
import tables
from belated.episode import Episode
from belated.sweep.study import read_study

ROOT = Path(__file__).parents[2]
NAMES = [name for name, (page, _) in tables.PLAIN_TABLES.items() if page == tables.LATENESS_PAGE]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("lateness-that-tells", 4000),
        ("lateness-that-tells-icu", 360),
        ("lateness-that-tells-icu-q-learning", 180),
        ("lateness-that-tells-icu-rlsvi", 64),
        ("lateness-that-tells-icu-psrl", 64),
        ("lateness-that-tells-updaters", 160),
        ("lateness-that-tells-icu-updaters", 16),
        ("lateness-that-tells-icu-q-learning-updaters", 8),
        ("lateness-that-tells-icu-rlsvi-updaters", 28),
        ("lateness-that-tells-icu-psrl-updaters", 14),
    ],
)
def test_the_study_has_the_stated_cells_and_its_numbers_are_stored(name: str, cells: int) -> None:
    study, stored = read_study(name), lateness_tables.read_stored()
    assert len(study.cells()) == cells
    assert f"{cells:,} cells" in (ROOT / tables.LATENESS_PAGE).read_text()
    assert stored[f"{name} cells"] == tables.digest(study.cells()), f"python docs/tables.py {name}"


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_written_from_the_stored_numbers(name: str) -> None:
    page, lines = tables.PLAIN_TABLES[name]
    found = tables.block_pattern(name).search((ROOT / page).read_text())
    assert found is not None
    assert found[2].splitlines() == list(lines()), f"python docs/tables.py {name}"


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
        ("lateness-that-tells", "chain-5", "rlsvi"),
        ("lateness-that-tells-icu", "icu-sepsis-5", "ucrl2"),
        ("lateness-that-tells-icu", "icu-sepsis-5", "psrl"),
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


def test_episodes_are_counted_late_if_their_law_says_so() -> None:
    world, law = bl.chain(2), bl.delays.by_return([0.5], ["constant:0", "constant:9"])
    good = Episode(1, [0, 1, 1], [1, 1], [0.0, 1.0])
    bad = Episode(2, [0, 0, 1], [1, 1], [0.0, 0.0])
    assert lateness_bias.delays_of(law, [good, bad], world, 0).tolist() == [9, 0]


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


def test_the_command_computes_what_is_missing_and_stores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small").write_text(
        'name = "small"\nepisodes = 4\nseeds = 2\nworlds = ["chain-2"]\nbases = ["ucrl2"]\n'
        'updaters = ["active"]\ndelays = ["constant:1"]\nrewards = "unknown"\n'
    )
    task = lateness_bias.BiasTask(
        "chain-2", "ucrl2", "ucrl2", (("constant:1", "active"),), (2, 4), "each", 0
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(tables, "PLAIN_TABLES", {})
    monkeypatch.setattr(lateness_tables, "DATA", tmp_path / "numbers.json")
    monkeypatch.setattr(lateness_tables, "STUDIES", ("small",))
    monkeypatch.setattr(lateness_tables, "bias_tasks", {"small": [task]}.get)
    tables.main(["small"])
    stored = lateness_tables.read_stored()
    assert [len(row["regrets"]) for row in stored["small regrets"]] == [2]
    assert [np.shape(row["bias"]) for row in stored["small bias"]] == [(1, 2)]
    assert "chain-2-ucrl2-0.json: bias" in capsys.readouterr().out
    tables.main(["small"])
    assert lateness_tables.read_stored() == stored
    assert "bias" not in capsys.readouterr().out
