"""Table of docs/scaling.md: exponents of the delay penalty, beside the orders of Table 1."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from belated.episode import Floats
from belated.mdp.worlds import world as parse_world
from belated.papers.statistics import mean_interval
from belated.theory import TABLE_1
from exponents import fit_exponent
from measured import Measured

BASES = ("ucrl2", "ucbvi-ch")
ROWS = {row.base: row for row in TABLE_1}
LAWS = ("constant", "geometric")
SYMBOLS = {"E[τ]": "expected delay", "S": "states", "H": "steps", "A": "actions", "K": "episodes"}
CENTRE = (10, 10, 3)
"""Steps H, states S and actions A of the worlds in which E[tau] and K vary."""
EPISODES = 8_000
MEAN = 100.0


class Penalties(NamedTuple):
    """Delay penalties of the worlds of each size, or with each expected delay."""

    x: tuple[float, ...]
    table: Floats
    """Penalty of each world (row) at each x (column): mean over the seeds."""
    runs: int
    """Number of runs at each x with delay."""

    def intervals(self) -> list[tuple[float, float, float]]:
        """Return the mean penalty at each x, with its 95 % confidence interval."""
        return [tuple(mean_interval(column)) for column in self.table.T]


@cache
def size(world: str) -> tuple[int, int, int]:
    """Return steps H, states S and actions A of the garnet world with this name."""
    shape = parse_world(world).shape
    return shape.horizon, shape.states, shape.actions


def penalties(
    sizes: Sequence[Measured], means: Sequence[Measured], base: str, law: str, symbol: str
) -> Penalties:
    """Return the penalties of `base` with delays of `law`, as one quantity varies.

    Parameters
    ----------
    sizes, means : sequence of Measured
        Rows of the studies delay-scaling and delay-scaling-means.
    base, law : str
        Names of the base and of the delay law.
    symbol : str
        Quantity that varies, a key of `SYMBOLS`.

    Returns
    -------
    Penalties
        Regret with delay minus regret without delay, with the same seeds.
    """
    mine = [row for row in (means if symbol in ("E[τ]", "K") else sizes) if row.base == base]
    without = {(row.world, row.episode): row for row in mine if row.mean_delay == 0}
    size_of = {world: size(world) for world in {row.world for row in mine}}
    found: dict[float, list[float]] = {}
    for row in mine:
        if row.mean_delay == 0 or row.law != law:
            continue
        dimensions = dict(zip("HSA", size_of[row.world], strict=True))
        centre = dict(zip("HSA", CENTRE, strict=True))
        values = {**dimensions, "E[τ]": row.mean_delay, "K": row.episode}
        fixed = {**centre, "E[τ]": MEAN, "K": EPISODES}
        if any(values[name] != fixed[name] for name in fixed if name != symbol):
            continue
        paired = np.subtract(row.regrets, without[row.world, row.episode].regrets)
        found.setdefault(float(values[symbol]), []).append(float(paired.mean()))
        runs = len(row.regrets)
    x = tuple(sorted(found))
    table = np.array([found[value] for value in x]).T
    return Penalties(x, table, runs * len(table))


def order(base: str, symbol: str) -> str:
    """Return the exponent of the quantity `symbol` in the delay term of Table 1, as text."""
    delay = ROWS[base].delay
    return f"{ {'E[τ]': 1, 'K': 0, 'S': delay.S, 'H': delay.H, 'A': delay.A}[symbol]:g}"


def exponents(sizes: Sequence[Measured], means: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the table of fitted exponents.

    `sizes` and `means` are the rows of the studies delay-scaling and delay-scaling-means.
    """
    yield (
        "| Base | C | Law | Penalty against | Values | Mean penalty, first and last | Fitted "
        "exponent | 95 % interval | Between neighbours | R² | Table 1 | Runs at each value |"
    )
    yield "| --- | ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for base in BASES:
        for symbol in SYMBOLS:
            for law in LAWS:
                found = penalties(sizes, means, base, law, symbol)
                averages = found.table.mean(axis=0)
                cells = [
                    f"`{base}`",
                    str(ROWS[base].C),
                    law,
                    symbol,
                    ", ".join(f"{x:,g}" for x in found.x),
                    f"{averages[0]:,.0f}, {averages[-1]:,.0f}",
                    *fit_cells(found),
                    order(base, symbol),
                    str(found.runs),
                ]
                yield f"| {' | '.join(cells)} |"


def fit_cells(found: Penalties) -> list[str]:
    """Return the cells of the fitted exponent: estimate, interval, neighbours and R²."""
    if found.table.mean(axis=0).min() <= 0:
        return ["none: a mean is not above 0", "", "", ""]
    fitted = fit_exponent(found.x, found.table)
    estimate, low, high = fitted.interval
    between = " to ".join(f"{end:.2f}" for end in (min(fitted.local), max(fitted.local)))
    shown = f"{low:.2f} to {high:.2f}" if math.isfinite(high - low) else "not determined"
    return [f"{estimate:.2f}", shown, between, f"{fitted.r_squared:.2f}"]
