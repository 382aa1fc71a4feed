"""Numbers read from the published figures, and their comparison with our results.

The paper has no table of results, so the numbers were read from its figures. The error of reading
is about 1% for curves and markers of distinct colours. It is about 2% for values that were partly
read by eye: constant delays, and uniform delays at the smallest E[tau]. Markers hidden behind
others are omitted.

The curves of delay dependence, final regret against E[tau], are also compared after division by the
regret without delay. The division removes errors of the level, which the comparison of final values
contains, and leaves the delay penalty. The published curves of regret over episodes cannot be
compared: the data of the paper's figures are not published, and only final values and the plateaus
of explicit exploration were read from the figures.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final, Literal

import numpy as np

from belated.papers.howson2021.evidence import Evidence, Key, interpolate_regret, make_condition
from belated.papers.howson2021.grid import (
    CHAINS,
    LAWS,
    MEANS,
    PAID_RIGHT_SUFFIX,
    PRESETS,
    PROPOSED_UPDATERS,
)
from belated.papers.statistics import (
    Interval,
    align,
    bootstrap_interval,
    resample_means,
    slope_weights,
)
from belated.sweep.bands import Columns, Curves

SELECTION_CHAINS: Final = (5, 10)
"""Numbers of states of two chains. All published numbers of these chains were used to select the
variant "figures" of the base."""

MIN_POINTS: Final = 4
"""Minimum number of points that a published curve must have to be compared.

The point without delay is included. Points that could not be read from the figure are not.
"""

EPISODES: Final = PRESETS["paper"].episodes
"""Map from the number of states of a chain to the number of episodes K in its published figures."""

READINGS: Final = Path(__file__).with_name("published.txt")
"""File with a table of the mean regrets after K episodes, read from the published figures.

A row has the number of states S, the learner, the delay law, and the regret at each value of E[tau]
from 0 to 500. A dash marks a value that could not be read. Regret without delay is in the rows of
the law "constant".
"""


def _parse_readings(text: str) -> dict[tuple[int, str, str, int], float]:
    _, *rows = (line.split() for line in text.strip().splitlines())
    return {
        (int(states), learner, law, mean): float(value)
        for states, learner, law, *values in rows
        for mean, value in zip(MEANS, values, strict=True)
        if value != "-"
    }


PUBLISHED: Final = _parse_readings(READINGS.read_text(encoding="utf-8"))
"""Map from (number of states, updater, law, E[tau]) to the published final regret.

It contains all values that could be read from the figures.
"""


PLATEAUS: Final[Mapping[tuple[int, str, int], tuple[int | None, float]]] = {
    (10, "constant", 100): (5_000, 1770),
    (20, "constant", 100): (None, 4245),
    (30, "constant", 100): (None, 5171),
    (30, "uniform", 100): (None, 10045),
    (30, "poisson", 100): (None, 7449),
}
"""Map from (number of states, law, E[tau]) to a published regret of explicit exploration.

The regret was read from a figure at the given episode or, if it is None, on the plateau: the level
at which the regret stops growing after the end of exploration. There is none for geometric delays,
because exploration does not end within the figures.
"""


Kind = Literal["final", "plateau"]


@dataclass(frozen=True)
class Comparison:
    """Comparison of a published number with the corresponding result of our runs."""

    kind: Kind
    world: str  # chain of our runs, such as "chain-10" or "chain-10-right"
    updater: str
    states: int
    law: str
    mean: float  # expected delay
    published: float
    comparable: bool  # whether our runs have the same number of episodes as the paper's
    regrets: Mapping[int, float] = field(repr=False)  # ours, by seed
    ours: float = field(init=False)  # mean over seeds
    low: float = field(init=False)  # 2.5 % quantile of our runs
    high: float = field(init=False)  # 97.5 % quantile of our runs

    def __post_init__(self) -> None:
        values = np.array([*self.regrets.values()])
        low, high = np.quantile(values, [0.025, 0.975]).tolist()
        vars(self).update(ours=float(values.mean()), low=low, high=high)

    @property
    def error(self) -> float:
        """Relative error, (ours - published) / published."""
        return self.ours / self.published - 1

    @property
    def selected(self) -> bool:
        """Whether the published number was used to select the variant "figures" of the base.

        The numbers used are the final regrets without delay on all chains, all final regrets on
        the chains in `SELECTION_CHAINS`, and the plateaus of explicit exploration.
        """
        return self.kind == "plateau" or self.mean == 0 or self.states in SELECTION_CHAINS


def compare(runs: Columns, curves: Curves) -> list[Comparison]:
    """Return a comparison for each published number whose setting has runs.

    The list begins with the final regrets and ends with the plateaus. A plateau is the level at
    which the regret of explicit exploration stops growing. Plateaus are compared with runs on the
    chain whose last state gives a reward only for the action "right", if there are any.

    `runs` is the table of final results with one row per run. `curves` maps the id of a setting to
    a table with the columns seed, episode and regret.
    """
    evidence = Evidence(runs, curves)
    paid_right = Evidence(runs, curves, suffix=PAID_RIGHT_SUFFIX)
    exploring = paid_right if paid_right.groups else evidence
    found = []
    for (states, updater, law, mean), value in PUBLISHED.items():
        key = make_condition(states, law, mean), updater
        if key in evidence.groups:
            found.append(_compare("final", evidence, key, value, evidence.totals(key)))
    for (states, law, mean), (episode, value) in PLATEAUS.items():
        key = make_condition(states, law, mean), "explicit"
        if key in exploring.groups and (regrets := _plateau_regrets(exploring, key, episode)):
            found.append(_compare("plateau", exploring, key, value, regrets))
    return found


def _compare(
    kind: Kind, evidence: Evidence, key: Key, published: float, regrets: Mapping[int, float]
) -> Comparison:
    """Return the comparison of a published number with `regrets`, by seed, of the runs of `key`."""
    condition, updater = key
    group = evidence.groups[key]
    same_length = int(group["episodes"][0]) == EPISODES[condition.states]
    world = str(group["world"][0])
    return Comparison(kind, world, updater, *condition, published, same_length, regrets)


def _plateau_regrets(evidence: Evidence, key: Key, episode: int | None) -> dict[int, float]:
    """Return the cumulative regret at `episode` of each run of `key`, by seed.

    If `episode` is None, return the regret after exploration: the median over the checkpoints after
    the last explored episode. In this case exploration must end within the first nine tenths of
    every run.

    Return an empty dict if a run ends before `episode`, or if exploration ends too late in a run,
    because a mean over the other runs would be biased.
    """
    group = evidence.groups[key]
    ends = dict(zip(group["seed"].tolist(), group["last_explored"].tolist(), strict=True))
    found = {}
    for seed, at, regret in evidence.curves(key):
        if episode is not None and at[-1] >= episode:
            found[seed] = float(interpolate_regret(at, regret, episode))
        elif episode is None and ends[seed] <= 0.9 * at[-1]:
            found[seed] = float(np.median(regret[at > ends[seed]]))
    return found if len(found) == len(ends) else {}


def find_errors(
    comparisons: Iterable[Comparison], kind: Kind, *, selected: bool = True
) -> list[float]:
    """Return the absolute relative errors of our results with respect to published numbers.

    They are those of the `comparisons` of one kind in which our runs have the same number of
    episodes as those of the paper (attribute `comparable`). If `selected`, the published numbers
    were used to select the variant "figures" of the base, otherwise not.
    """
    return [
        abs(one.error)
        for one in comparisons
        if one.comparable and (one.kind, one.selected) == (kind, selected)
    ]


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
        table, interval = align([row.regrets for row in rows]), None
        if table is not None:
            draws = resample_means(table)
            slopes = draws @ slope_weights(means) / draws[:, 0]
            interval = bootstrap_interval(ours, slopes, len(table))
        distance = float(np.abs(curves[:, 0] - curves[:, 1]).max())
        found.append(Shape(states, updater, law, len(means), published, ours, interval, distance))
    return found
