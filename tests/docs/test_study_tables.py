"""Tables that are written from stored regrets: docs/bases-under-delay.md and docs/scaling.md."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bases_tables
import measured
import scaling_tables
import tables
from belated.simulation.calibrate import FIRST_SEED
from belated.sweep.cell import Cell
from belated.sweep.study import read_study
from measured import Measured

ROOT = Path(__file__).parents[2]


@cache
def cells_of_study(name: str) -> list[Cell]:
    """Return the cells of the packaged study `name`."""
    return read_study(name).cells()


def made(world: str, base: str, delay: str, regrets: list[float], episode: int = 8_000) -> Measured:
    """Return made regrets of a setting, with one run less than all of them optimistic."""
    held = len(regrets) - 1
    return Measured(world, base, "active", delay, episode, held, tuple(regrets))


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("name", tables.STORED_TABLES)
def test_a_stored_table_on_a_page_is_what_the_command_writes(name: str) -> None:
    page, _, _ = tables.STORED_TABLES[name]
    found = tables.block_pattern(name).search((ROOT / page).read_text())
    assert found is not None
    assert found[0] == tables.stored_block(name), f"python docs/tables.py {name}"


@pytest.mark.parametrize("name", tables.STORED_STUDIES)
def test_stored_regrets_are_those_of_the_cells_of_the_study(name: str) -> None:
    study = read_study(name)
    cells, rows = measured.read_data(name)
    assert cells == measured.digest(cells_of_study(name)), f"python docs/tables.py {name}"
    settings = {(cell.world, cell.delay, cell.label) for cell in cells_of_study(name)}
    assert {(row.world, row.delay, row.base) for row in rows} == settings
    assert {len(row.regrets) for row in rows} == {study.seeds}


def test_nine_bases_meet_every_delay_in_six_worlds_with_thirty_seeds() -> None:
    study = read_study("bases-under-delay")
    cells = cells_of_study("bases-under-delay")
    assert len(cells) == 6 * 9 * 9 * 30 / 5  # worlds, bases, delays, seeds
    assert {cell.label for cell in cells} == set(bases_tables.BASES)
    assert study.seeds == 30
    assert study.seeds < FIRST_SEED  # scales are not chosen by the runs in which they are used
    assert {cell.world for cell in cells} == set(bases_tables.WORLDS)
    assert {cell.delay for cell in cells} == set(bases_tables.DELAYS)


def test_each_base_of_the_study_has_the_scale_calibrated_under_its_delay() -> None:
    scales = bases_tables.scales()
    for cell in cells_of_study("bases-under-delay"):
        scale = dict(cell.base_options).get("scale")
        if cell.base not in bases_tables.CALIBRATED:
            assert scale is None
            continue
        row = scales[cell.world, cell.base, cell.delay]
        assert scale == row.scale
        assert (row.runs, row.tolerance) == (200, 1.2)
        assert row.held >= 0.98 * row.runs
        assert (row.first_seed, row.episodes) == (FIRST_SEED, cell.episodes)


def test_penalties_are_measured_in_ten_worlds_of_each_size() -> None:
    sizes, means = (read_study(name) for name in ("delay-scaling", "delay-scaling-means"))
    assert len(sizes.cells()) == 10 * 10 * 2 * 3  # sizes, worlds, bases, delays
    assert len(means.cells()) == 10 * 2 * 11  # worlds, bases, delays
    found = [scaling_tables.size(world) for world in sizes.worlds]
    assert len(set(sizes.worlds)) == 100
    assert {found.count(size) for size in found} == {10}
    assert all(np.count_nonzero(np.subtract(size, scaling_tables.CENTRE)) <= 1 for size in found)
    assert means.worlds == sizes.worlds[:10]


def test_a_regret_is_shown_with_its_interval_and_the_number_of_runs() -> None:
    rows = [made("chain-5", "ubev", delay, [9.0, 10.0, 11.0]) for delay in bases_tables.DELAYS]
    cells = cells_of(list(bases_tables.regrets(rows))[2])
    assert cells == ["chain-5", "`ubev`", "3", *["10 ± 2"] * 9]


def ranked(differences: dict[str, float]) -> dict[str, list[str]]:
    """Return the rows of the ranking, with made regrets whose means differ by `differences`."""
    rng = np.random.default_rng(1)
    rows = [
        made(
            world,
            base,
            delay,
            (100 + differences.get(base, 50) + rng.normal(0, 5, 30)).tolist(),
        )
        for world in bases_tables.WORLDS
        for base in bases_tables.BASES
        for delay in bases_tables.DELAYS
    ]
    lines = list(bases_tables.ranking(rows))
    return {cells[0].strip("`"): cells[1:] for cells in map(cells_of, lines[2:])}


def test_bases_with_higher_regret_are_told_from_the_lowest() -> None:
    found = ranked({"psrl": 0})
    assert found["psrl"] == ["54", "0", "0", "1", "1,620"]
    assert found["ubev"][:3] == ["0", "0", "54"]
    ratio = float(found["ubev"][3].split()[0])
    assert ratio == pytest.approx(1.5, abs=0.02)


def test_equal_bases_are_not_resolved() -> None:
    found = ranked({"psrl": 0, "ucrl2": 0})
    first, tied, higher = (int(found["psrl"][i]) + int(found["ucrl2"][i]) for i in range(3))
    assert first == 54
    assert tied >= 50
    assert higher <= 4


def test_exponents_of_made_penalties_come_out_again() -> None:
    rng = np.random.default_rng(2)
    sizes, means = [], []
    for study, rows in (("delay-scaling", sizes), ("delay-scaling-means", means)):
        for cell in cells_of_study(study):
            H, S, A = scaling_tables.size(cell.world)
            mean = float(cell.delay.rpartition(":")[2])
            for episode in (1000, 2000, 4000, 8000):
                penalty = mean**0.8 * S**1.5 * H**2 * A * episode**0.1
                noise = rng.normal(0, 0.02 * penalty, 3)
                regrets = (1e6 + penalty + noise).tolist()
                rows.append(made(cell.world, cell.label, cell.delay, regrets, episode))
    lines = [cells_of(line) for line in scaling_tables.exponents(sizes, means)][2:]
    assert len(lines) == 2 * 5 * 2
    true = {"E[τ]": 0.8, "S": 1.5, "H": 2, "A": 1, "K": 0.1}
    for line in lines:
        symbol, estimate, interval = line[3], float(line[6]), line[7]
        low, high = map(float, interval.split(" to "))
        assert estimate == pytest.approx(true[symbol], abs=0.03)
        assert low - 0.02 <= true[symbol] <= high + 0.02
    assert [line[10] for line in lines[::2]] == ["1", "1.5", "2", "1", "0", "1", "2", "3", "1", "0"]


def test_penalties_that_are_not_positive_have_no_exponent() -> None:
    table = np.tile([-1.0, 1.0], (10, 1))
    found = scaling_tables.Penalties((1.0, 2.0), table, 30)
    assert scaling_tables.fit_cells(found)[0] == "none: a mean is not above 0"
