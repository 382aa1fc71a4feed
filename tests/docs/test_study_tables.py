"""The statistics of docs/bases-under-delay.md and docs/scaling.md, with made regrets."""

import numpy as np
import pytest

import bases_tables
import scaling_tables
from belated.sweep.study import read_study
from measured import Measured


def made(world: str, base: str, delay: str, regrets: list[float], episode: int = 8_000) -> Measured:
    """Return made regrets of a setting, with one run less than all of them optimistic."""
    held = len(regrets) - 1
    return Measured(world, base, "active", delay, episode, held, tuple(regrets))


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


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
        for cell in read_study(study).cells():
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
