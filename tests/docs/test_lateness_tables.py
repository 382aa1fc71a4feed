"""The numbers of docs/lateness-that-tells.md come from its studies and its script."""

from pathlib import Path

import numpy as np
import pytest

import belated as bl
import lateness_tables
import tables
from belated.episode import Episode
from belated.sweep.study import read_study

ROOT = Path(__file__).parents[2]
NAMES = [name for name, (page, _) in tables.PLAIN_TABLES.items() if page == tables.LATENESS_PAGE]


@pytest.mark.parametrize(
    ("name", "cells"), [("lateness-that-tells", 2400), ("lateness-that-tells-icu", 35)]
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


def test_the_bias_of_a_run_comes_out_again() -> None:
    setting = ("chain-5", "by_return:0=constant:0,0.5=uniform:50", "ucrl2", "active")
    world, delay, base, updater = setting
    curve = lateness_tables.bias_curve(world, lateness_tables.LEARNERS[base], updater, delay, 0)
    assert curve == pytest.approx(lateness_tables.bias_by_setting()[setting][0], abs=1e-4)


def test_the_estimated_value_is_the_mean_return_of_a_policy_that_was_always_played() -> None:
    world = bl.chain(2)
    policy = np.ones((2, 2), np.int32)
    good = Episode(1, [0, 1, 1], [1, 1], [0.0, 1.0])
    bad = Episode(2, [0, 0, 1], [1, 1], [0.0, 0.0])
    truth = bl.policy_value(world, bl.Policy(policy))
    assert lateness_tables.estimated_value(world, policy, []) == pytest.approx(truth)
    assert lateness_tables.estimated_value(world, policy, [good, good, good, bad]) == 0.75


def test_episodes_are_counted_late_if_their_law_says_so() -> None:
    world, law = bl.chain(2), bl.delays.by_return([0.5], ["constant:0", "constant:9"])
    good = Episode(1, [0, 1, 1], [1, 1], [0.0, 1.0])
    bad = Episode(2, [0, 0, 1], [1, 1], [0.0, 0.0])
    assert lateness_tables.delays_of(law, [good, bad], world, 0).tolist() == [9, 0]
