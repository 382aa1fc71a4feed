"""Comparison of the shapes of published curves with the shapes of our curves.

The curves of delay dependence, final regret against E[tau], are compared after division by the
regret without delay. The division removes errors of the level, which the comparison of final values
contains, and leaves the delay penalty. The published curves of regret over episodes cannot be
compared: the data of the paper's figures are not published, and only final values and the plateaus
of explicit exploration were read from the figures.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from belated.papers.howson2021.grid import CHAINS, LAWS, PROPOSED_UPDATERS
from belated.papers.howson2021.published import SELECTION_CHAINS, Comparison
from belated.papers.statistics import (
    MIN_SEEDS,
    Interval,
    bootstrap_interval,
    resample_means,
    slope_weights,
)

MIN_POINTS: Final = 4
"""Minimum number of points that a published curve must have to be compared.

The point without delay is included. Points that could not be read from the figure are not.
"""


@dataclass(frozen=True)
class Shape:
    """Comparison of a published curve of final regret against E[tau] with our curve.

    The regret of both curves is divided by the regret without delay of the same learner. A slope is
    the slope of the least-squares line through the points that could be read from the figure.
    """

    states: int
    updater: str
    law: str
    points: int  # number of legible points, including the one without delay
    published_slope: float  # relative to the regret without delay, per episode of E[tau]
    slope: float  # ours
    interval: Interval | None  # our slope with its confidence interval, None if there are few seeds
    distance: float  # largest absolute difference of the two curves

    @property
    def selected(self) -> bool:
        """Whether the published curve was used to select the variant "figures" of the base."""
        return self.states in SELECTION_CHAINS


def compare_shapes(comparisons: Iterable[Comparison]) -> list[Shape]:
    """Return a comparison for each published curve of delay dependence with enough points.

    `comparisons` contains the comparisons of single numbers. Only final regrets are used, and only
    those of runs with the same number of episodes as in the paper (attribute `comparable`). A curve
    needs at least `MIN_POINTS` points.
    """
    final = {
        (row.states, row.updater, row.law, row.mean): row
        for row in comparisons
        if row.kind == "final" and row.comparable
    }
    found = []
    for states, updater, law in product(CHAINS, PROPOSED_UPDATERS, LAWS):
        start = final.get((states, updater, "constant", 0))
        delayed = {
            key[3]: value for key, value in final.items() if key[:3] == (states, updater, law)
        }
        means = sorted({0.0, *delayed})
        if start is None or len(means) < MIN_POINTS:
            continue
        rows = [start if mean == 0 else delayed[mean] for mean in means]
        curves = np.array([(row.published, row.ours) for row in rows])
        curves /= curves[0]
        published, ours = (slope_weights(means) @ curves).tolist()
        interval = _slope_interval(means, ours, [row.by_seed for row in rows])
        distance = float(np.abs(curves[:, 0] - curves[:, 1]).max())
        found.append(Shape(states, updater, law, len(means), published, ours, interval, distance))
    return found


def _slope_interval(
    means: Sequence[float], slope: float, regrets: Sequence[Mapping[int, float]]
) -> Interval | None:
    """Return the confidence interval of our `slope`, by a bootstrap over the common seeds.

    `regrets` contains the final regret of each seed at each of `means`, which begin with 0. Return
    None if there are fewer than `MIN_SEEDS` common seeds.
    """
    seeds = sorted(set.intersection(*map(set, regrets)))
    if len(seeds) < MIN_SEEDS:
        return None
    draws = resample_means(np.array([[of[seed] for of in regrets] for seed in seeds]))
    return bootstrap_interval(slope, draws @ slope_weights(means) / draws[:, 0], len(seeds))
