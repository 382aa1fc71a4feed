"""The tables of the docs are those that `make tables` would write."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from belated.learner.bases import BASES, Base
from belated.sweep.study import read_study

ROOT = Path(__file__).parents[1]


def script() -> ModuleType:
    """docs/tables.py."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = script()


def standing(name: str) -> tuple[str, list[str]]:
    """Return the stated source of a table, and its lines in the docs."""
    page, _ = tables.TABLES[name]
    found = tables.block_pattern(name).search((ROOT / page).read_text())
    assert found is not None
    return found[1], found[2].splitlines()


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_table_is_made_of_the_cells_of_its_study(name: str) -> None:
    made_of, lines = standing(name)
    assert made_of == tables.digest(read_study(name)), "make tables"
    assert len(lines) > 10


def test_another_study_would_have_another_digest() -> None:
    study = read_study("algorithms")
    longer = study.model_copy(update={"episodes": 2001})
    assert tables.digest(study) != tables.digest(longer)


def test_every_base_of_the_study_stands_there_with_every_updater_and_what_is_known_of_it() -> None:
    _, lines = standing("algorithms")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    study = read_study("algorithms")
    named = {entry.name for entry in study.bases}
    assert {row[0].strip("`") for row in rows} == named <= set(BASES)
    assert len(rows) == len(named) * len(study.updaters)
    updaters = {name: updater for updater, name in tables.UPDATERS.items()}
    for row in rows:
        base = row[0].strip("`")
        assert row[2:6] == [*tables.ABOUT[base], tables.guarantee(base, updaters[row[1]])]


@pytest.mark.parametrize("name", [name for name in BASES if name != "fixed"])
def test_every_base_is_in_the_table_of_names(name: str) -> None:
    common = {field.name for field in fields(Base)}
    own = [field.name for field in fields(BASES[name]) if field.name not in common]
    options = ", ".join(f"`{option}`" for option in own)
    text = (ROOT / "docs" / "algorithms.md").read_text()
    line = f"| `{name}` | `bl.{BASES[name].__name__}` | {options} |".replace("|  |", "| |")
    assert line in text.splitlines(), f"add to docs/algorithms.md: {line}"


def test_the_numbers_of_the_smallest_chain_come_out_again() -> None:
    _, lines = standing("algorithms")
    shown = {}
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        shown[cells[0].strip("`"), cells[1]] = re.split(", ", cells[6])[1]  # E[tau] = 100
    study = read_study("algorithms")
    for cell in study.cells():
        if (cell.world, cell.delay) != ("chain-5", "geometric:100"):
            continue
        setting = cell.build()
        regret = np.mean([setting.run(seed).total_regret for seed in cell.seeds])
        assert shown[cell.label, tables.UPDATERS[cell.updater]] == f"{regret:.0f}", "make tables"


def test_late_rewards_cost_less_than_late_everything_at_every_expected_delay() -> None:
    _, lines = standing("late-rewards")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    cost = {tuple(row[:3]): [float(x.replace(",", "")) for x in row[3:]] for row in rows}
    assert len(cost) == 16
    for (world, law, late), regrets in cost.items():
        if late == "rewards":
            everything = cost[world, law, "everything"]
            assert all(a < 0.95 * b for a, b in zip(regrets, everything, strict=True))
