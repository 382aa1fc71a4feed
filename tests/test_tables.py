"""The tables of the docs are those that `make tables` would write."""

import re
from dataclasses import asdict, fields, replace
from itertools import product
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import belated as bl
import calibrated_tables
import tables
from belated.learner.bases import BASES, OPTIMISTIC, Base
from belated.papers.howson2021.grid import CHAINS, LAWS, LEARNERS, MEANS
from belated.simulation.calibration_table import CalibratedScale, CalibrationTask, write_table
from belated.sweep.study import read_study
from measured import Measured

ROOT = Path(__file__).parents[1]


def standing(name: str) -> tuple[str, list[str]]:
    """Return the stated source of a table, and its lines in the docs."""
    page, _ = tables.TABLES[name]
    found = tables.block_pattern(name).search((ROOT / page).read_text())
    assert found is not None
    return found[1], found[2].splitlines()


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_table_is_made_of_the_cells_of_its_study(name: str) -> None:
    made_of, lines = standing(name)
    assert made_of == tables.digest(read_study(name).cells()), "make tables"
    assert len(lines) > 10


def test_the_table_of_proofs_is_what_the_bases_declare() -> None:
    found = tables.block_pattern("proofs").search((ROOT / "docs" / "algorithms.md").read_text())
    assert found is not None
    assert found[2].splitlines() == list(tables.proofs()), "python docs/tables.py proofs"


@pytest.mark.parametrize("name", OPTIMISTIC)
def test_every_choice_of_an_optimistic_base_has_a_declaration(name: str) -> None:
    kind = OPTIMISTIC[name]
    declared = {option for proof in kind.proofs for option in proof.options}
    choices = {
        option: get_args(get_type_hints(kind)[option]) or (False, True) for option in declared
    }
    assert kind.proofs
    for values in product(*choices.values()):
        base = kind(**dict(zip(choices, values, strict=True)))
        assert base.proof in kind.proofs
        assert (base.proof.by == "") == (base.proof.counts == "")


def test_presets_without_a_proof_say_so() -> None:
    for preset in ("no_third", "two_term", "emp_bernstein", "simplified_bernstein"):
        assert not bl.UCBVI_BF(preset=preset).proof.by
    assert not bl.Chi2_UCRL(radius="practical").proof.by
    assert not bl.UCBVI_BF().proof.by
    assert bl.UCBVI_BF(monotone=True).proof.counts == "pooled"
    assert bl.UCRL2().proof.by.startswith("Weissman")


def test_the_table_of_calibrations_has_both_conditions_of_optimism(tmp_path, monkeypatch) -> None:
    task = CalibrationTask(world="chain-5", base="ucbvi-bf", delay="poisson:100", episodes=10_000)
    found = {"held": 39, "mean_regret": 100.0, "at_floor": False}
    rows = [
        CalibratedScale(**asdict(task), **found, scale=0.0625),
        CalibratedScale(**asdict(replace(task, optimism="everywhere")), **found, scale=None),
    ]
    monkeypatch.setattr(calibrated_tables, "SCALES_FILE", tmp_path / "scales.json")
    write_table(calibrated_tables.SCALES_FILE, rows)
    _, _, line = calibrated_tables.calibrations()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    held = ["39 of 40", "86.8% to 99.9%"]
    assert cells == ["chain-5", "poisson:100", "10,000", "0.0486", "0.0625", *held, "none", *held]


def test_the_table_of_calibrations_is_that_of_the_stored_scales() -> None:
    page, lines = tables.PLAIN_TABLES["calibrations"]
    found = tables.block_pattern("calibrations").search((ROOT / page).read_text())
    assert found is not None
    assert found[2].splitlines() == list(lines()), "python docs/tables.py calibrations"
    assert len(list(lines())) == 2 + 4 * 21  # chains, delays


def test_the_table_of_claims_has_the_verdicts_of_both_variants() -> None:
    page, lines = tables.PLAIN_TABLES["calibrated-claims"]
    found = tables.block_pattern("calibrated-claims").search((ROOT / page).read_text())
    assert found is not None
    assert found[2].splitlines() == list(lines()), "python docs/tables.py calibrated-claims"
    assert len(list(lines())) == 2 + 19  # claims


def test_a_verdict_that_differs_between_variants_is_marked(tmp_path, monkeypatch) -> None:
    head = "Text\n\n| Claim | Outcome |\n| --- | --- |\n"
    same = "| Second. | confirmed in all 8 settings |\n"
    outcomes = ("refuted: refuted in 1 of 4 settings", "not resolved in all 4 settings")
    for page, outcome in zip(calibrated_tables.PAGES.values(), (None, *outcomes), strict=True):
        (tmp_path / page).write_text(f"{head}| First. | {outcome} |\n{same}\nEnd\n")
    monkeypatch.setattr(calibrated_tables, "DOCS", tmp_path)
    _, _, first, second = calibrated_tables.claims()
    assert first == f"| First. | {outcomes[0]} | {outcomes[1]} | changed |"
    assert second.endswith("| same |")


def test_another_study_would_have_another_digest() -> None:
    study = read_study("algorithms")
    longer = study.model_copy(update={"episodes": 2001})
    assert tables.digest(study.cells()) != tables.digest(longer.cells())


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
        regret = tables.mean_text([setting.run(seed).total_regret for seed in cell.seeds])
        assert shown[cell.label, tables.UPDATERS[cell.updater]] == regret, "make tables"


def test_late_rewards_cost_less_than_late_everything_at_every_expected_delay() -> None:
    _, lines = standing("late-rewards")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    means = [[cell.split()[0].replace(",", "") for cell in row[3:]] for row in rows]
    cost = {tuple(row[:3]): list(map(float, of)) for row, of in zip(rows, means, strict=True)}
    assert len(cost) == 16
    for (world, law, late), regrets in cost.items():
        if late == "rewards":
            everything = cost[world, law, "everything"]
            assert all(a < 0.95 * b for a, b in zip(regrets, everything, strict=True))


def test_regrets_of_both_kinds_of_scales_are_compared_by_chain_and_law() -> None:
    delays = ["constant:0", *(f"{law}:{mean}" for law in LAWS for mean in MEANS[1:])]
    rows = [
        Measured(f"chain-{states}", base, updater, delay, 100, held, regrets)
        for states, updater, delay in product(CHAINS, LEARNERS, delays)
        for base, held, regrets in (
            ("with-delay", 5, (20.0, 22.0, 24.0, 26.0, 28.0)),
            (f"chain-{states}-without-delay", 4, (10.0, 11.0, 12.0, 13.0, 14.0)),
        )
    ]
    lines = [line.strip("| ").split(" | ") for line in calibrated_tables.variants(rows)]
    assert len(lines) == 2 + 4 * 5 * 5  # chains, learners, no delay and four laws
    assert lines[2][:3] == ["chain-5", "Active", "no delay"]
    assert lines[2][5] == "2.00 (2.00 to 2.00)"
    assert lines[-1][:3] == ["chain-30", "Explicit exploration", "geometric"]
    assert lines[-1][3].startswith("20 of 25 (")
    assert lines[-1][4].startswith("25 of 25 (")
