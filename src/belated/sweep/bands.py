"""Bands: mean and central 95 % of the regret of several runs.

The runs are `Run` objects, or rows of the stored results of a study.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.episode import Floats, Ints
from belated.simulation.run import Run

TAIL_PROBABILITY = 0.025
"""Fraction of the runs that lie below a band; the same fraction lies above it."""

OUTLIER_RATIO = 2.0
"""Minimum ratio of the maximum of an outlying line to the maximum of the next lower line.

An outlying line and all higher lines are cut off at the top of a panel; see `axis_limit`.
"""

HEADROOM = 1.6
"""Ratio of the upper limit of a cut y axis to the maximum of the highest line shown in full."""


@dataclass(frozen=True, eq=False)
class Band:
    """Mean and central 95 % of regret over runs, at each value of `x`.

    All four arrays have the same length.
    """

    x: Ints | Floats  # checkpoints (episodes) or expected delays
    mean: Floats
    low: Floats  # 2.5 % quantile
    high: Floats  # 97.5 % quantile


Panels = Mapping[str, Mapping[str, Band]]
"""Content of a figure: map from the title of a panel to a map from the label of a line to its
band."""

Columns = dict[str, NDArray[Any]]
"""Table of results: map from the name of a column to its array. All arrays have the same length."""

Curves = Callable[[str], Columns]
"""Function that maps the id of a setting to a table with the columns seed, episode and regret. The
table has one row per run of the setting and checkpoint."""

Points = Mapping[str, Mapping[str, Mapping[float, float]]]
"""Single points of a figure: map from the title of a panel to a map from the label of a line to a
map from x coordinates to values."""


def band(runs: Sequence[Run]) -> Band:
    """Return the band of the cumulative regret of `runs` over episodes.

    The band begins with regret 0 at episode 0. Raise ValueError if there are no runs, or if their
    checkpoints differ.
    """
    if not runs:
        raise ValueError("runs must hold at least one run, got none.")
    episode = runs[0].episode
    for run in runs:
        if not np.array_equal(run.episode, episode):
            raise ValueError(
                f"runs must have the same checkpoints; those of seeds {runs[0].seed} and "
                f"{run.seed} differ. Simulate them with the same episodes and every."
            )
    return curve_from_origin(episode, np.array([run.regret for run in runs]))


def quantile_band(x: Ints | Floats, regret: Floats) -> Band:
    """Return the mean and the central 95 % of `regret` over runs, at each value of `x`.

    `regret` has shape (runs, len(x)).
    """
    low, high = np.quantile(regret, [TAIL_PROBABILITY, 1 - TAIL_PROBABILITY], axis=0)
    return Band(x, regret.mean(axis=0), low, high)


def curve_from_origin(episode: Ints, regret: Floats) -> Band:
    """Return the band of the regret curves of several runs, beginning with 0 at episode 0.

    `episode` contains the checkpoints, and `regret` has shape (runs, len(`episode`)).
    """
    return quantile_band(np.append(0, episode), np.pad(regret, ((0, 0), (1, 0))))


def curve_band(curves: Columns) -> Band:
    """Return the band of the regret curves of one setting, beginning with 0 at episode 0.

    `curves` has the columns seed, episode and regret, sorted by seed and episode. Raise ValueError
    if the checkpoints differ between seeds.
    """
    seeds = np.unique(curves["seed"])
    episode = curves["episode"][curves["seed"] == seeds[0]]
    if not np.array_equal(curves["episode"], np.tile(episode, seeds.size)):
        raise ValueError(
            f"The runs of a band must have the same checkpoints; "
            f"those of seeds {seeds[0]} to {seeds[-1]} differ."
        )
    return curve_from_origin(episode, curves["regret"].reshape(seeds.size, episode.size))


def final_band(mean_delay: NDArray[Any], regret: NDArray[Any]) -> Band:
    """Return the band of the final regret at each distinct mean delay.

    `mean_delay` and `regret` have one entry per run.
    """
    x = np.unique(mean_delay)
    bands = [quantile_band(x[:1], regret[mean_delay == mean][:, None]) for mean in x]
    parts = (np.concatenate([getattr(b, part) for b in bands]) for part in ("mean", "low", "high"))
    return Band(x, *parts)


def axis_limit(panels: Panels) -> float | None:
    """Return an upper limit of the y axis at which outlying lines of `panels` are cut off.

    Return None if no line lies far above the others; see `OUTLIER_RATIO`. Fewer than half of the
    lines are cut off.
    """
    maxima: dict[str, float] = {}
    for lines in panels.values():
        for name, line in lines.items():
            maxima[name] = max(maxima.get(name, 0.0), float(line.high.max()))
    ordered = sorted(maxima.values())
    for shown, (lower, upper) in enumerate(pairwise(ordered), start=1):
        if upper > OUTLIER_RATIO * lower > 0 and 2 * shown > len(ordered):
            return HEADROOM * lower
    return None


def line_names(panels: Panels, order: Sequence[str]) -> list[str]:
    """Return the labels of all lines, without duplicates.

    The labels in `order` come first, then the labels of all other lines of `panels`.

    Raise ValueError if `panels` has no lines.
    """
    if not any(panels.values()):
        raise ValueError("panels must hold at least one line, got none.")
    return list(dict.fromkeys([*order, *(name for lines in panels.values() for name in lines)]))
