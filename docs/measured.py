"""Regrets of packaged studies, stored in docs/data, from which tables and pictures are made.

The files are small extracts of results: `python docs/tables.py STUDY` computes the unfinished cells
of a study and writes its file. A file contains the digest of the cells, so that a test can detect
that it is outdated.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import special

from belated.episode import Floats
from belated.sweep.cell import Cell
from belated.sweep.results import Results

FOLDER = Path(__file__).parent / "data"
"""Folder of the data files."""

DIGITS = 6
"""Number of significant digits of a stored regret."""


@dataclass(frozen=True)
class Measured:
    """Regrets of the runs of one setting after `episode` episodes, with one entry per seed."""

    world: str
    base: str
    updater: str
    delay: str
    episode: int
    optimism_held: int  # number of runs in which optimism held in every episode
    regrets: tuple[float, ...]

    @property
    def law(self) -> str:
        """Name of the delay law, such as "geometric"."""
        return self.delay.partition(":")[0]

    @property
    def mean_delay(self) -> float:
        """Expected delay in episodes."""
        return float(self.delay.rpartition(":")[2])


def digest(cells: Iterable[Cell]) -> str:
    """Return a digest of all `cells` of a study."""
    return hashlib.sha256("".join(cell.digest for cell in cells).encode()).hexdigest()[:16]


def extract(results: Results, fractions: Sequence[int]) -> list[Measured]:
    """Return the regrets of all settings of a sweep at some checkpoints.

    Parameters
    ----------
    results : Results
        Results of the sweep.
    fractions : sequence of int
        Numbers n: the regret after 1/n of the episodes of a run is wanted.

    Returns
    -------
    list of Measured
        One entry for each setting and checkpoint, sorted by setting.
    """
    found = []
    for row in rows_of(
        results,
        "SELECT setting, world, base, updater, delay, any_value(episodes) AS last, "
        "count_if(optimism_broken = 0)::BIGINT AS held FROM runs GROUP BY ALL ORDER BY setting",
    ):
        setting, world, base, updater, delay, last, held = row
        curves = results.curves(str(setting))
        for episode in (int(last) // fraction for fraction in fractions):
            regrets = curves["regret"][curves["episode"] == episode]
            numbers = tuple(float(f"{x:.{DIGITS}g}") for x in regrets)
            found.append(
                Measured(
                    str(world), str(base), str(updater), str(delay), episode, int(held), numbers
                )
            )
    return found


def rows_of(results: Results, query: str) -> Iterable[tuple[object, ...]]:
    """Return the rows of the result of `query`."""
    return zip(*results.sql(query).values(), strict=True)


def write_data(name: str, cells: str, rows: Iterable[Measured]) -> None:
    """Write `rows` to the data file of the study `name`, whose cells have the digest `cells`."""
    lines = ",\n".join(json.dumps(asdict(row)) for row in rows)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(f'{{"cells": "{cells}", "rows": [\n{lines}\n]}}\n')


def read_data(name: str) -> tuple[str, list[Measured]]:
    """Return the digest of the cells of the study `name`, and the rows of its data file."""
    stored = json.loads((FOLDER / f"{name}.json").read_text())
    rows = [Measured(**{**row, "regrets": tuple(row["regrets"])}) for row in stored["rows"]]
    return stored["cells"], rows


def half_width(values: Sequence[float] | Floats) -> float:
    """Return half the width of Student's 95 % confidence interval of the mean of `values`."""
    count = len(values)
    quantile = float(special.stdtrit(count - 1, 0.975))
    return quantile * float(np.std(values, ddof=1)) / count**0.5


def mean_text(values: Sequence[float] | Floats, digits: int = 0) -> str:
    """Return the mean of `values` and half the width of its 95 % confidence interval, as text."""
    return f"{np.mean(values):,.{digits}f} ± {half_width(values):,.{digits}f}"
