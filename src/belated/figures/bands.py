"""Mean and central 95 % of the regret of several runs, from `Run` objects or a study's results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from belated.episode import Bools, Floats, Ints
from belated.simulation.run import Run

TAIL_PROBABILITY = 0.025
"""Fraction of the runs below a band, and above it."""

OUTLIER_RATIO = 2.0
"""A line is cut off if its maximum exceeds that of the next lower line by more than this factor."""

HEADROOM = 1.6
"""Upper limit of a cut axis, as a multiple of the highest line that is shown completely."""


@dataclass(frozen=True, eq=False)
class Band:
    """Mean and central 95 % of regret over seeds; all arrays have the same length."""

    x: Ints | Floats  # checkpoints (episodes) or expected delays
    mean: Floats
    low: Floats  # 2.5 % quantile
    high: Floats  # 97.5 % quantile


Panels = Mapping[str, Mapping[str, Band]]
"""Content of a figure: for the title of each panel, its lines by the labels in the legend."""

Columns = Mapping[str, NDArray[Any]]
"""Table of results by column: `runs` has a row per run, `curves(setting)` one per checkpoint."""

Published = Mapping[tuple[str, str, float], float]
"""Published final regrets by updater, law and expected delay: ("lazy:10", "poisson", 100)."""

Points = Mapping[str, Mapping[str, Mapping[float, float]]]
"""Single values by panel, line and x."""

PanelPer = Literal["learner", "law"]


def band(runs: Sequence[Run]) -> Band:
    """Return the band of `runs`, which must have the same checkpoints."""
    if not runs:
        raise ValueError("runs must hold at least one run, got none.")
    episode = runs[0].episode
    for run in runs:
        if not np.array_equal(run.episode, episode):
            raise ValueError(
                f"runs must have the same checkpoints; those of seeds {runs[0].seed} and "
                f"{run.seed} differ. Simulate them with the same episodes and every."
            )
    return quantile_band(episode, np.array([run.regret for run in runs]))


def quantile_band(x: Ints | Floats, regret: Floats) -> Band:
    """Return the band of `regret`, which has a row per run and a column per entry of `x`."""
    low, high = np.quantile(regret, [TAIL_PROBABILITY, 1 - TAIL_PROBABILITY], axis=0)
    return Band(x, regret.mean(axis=0), low, high)


def curve_band(curves: Columns) -> Band:
    """Return the band of the `curves` of one setting, sorted by seed and episode."""
    seeds = np.unique(curves["seed"])
    episode = curves["episode"][curves["seed"] == seeds[0]]
    if not np.array_equal(curves["episode"], np.tile(episode, seeds.size)):
        raise ValueError(
            f"The runs of a band must have the same checkpoints; "
            f"those of seeds {seeds[0]} to {seeds[-1]} differ."
        )
    return quantile_band(episode, curves["regret"].reshape(seeds.size, episode.size))


def final_band(mean_delay: NDArray[Any], regret: NDArray[Any]) -> Band:
    """Return the band of final `regret` at each distinct `mean_delay`; both have a row per run."""
    x = np.unique(mean_delay)
    bands = [quantile_band(x[:1], regret[mean_delay == mean][:, None]) for mean in x]
    parts = (np.concatenate([getattr(b, part) for b in bands]) for part in ("mean", "low", "high"))
    return Band(x, *parts)


def regret_bands(
    runs: Columns,
    curves: Callable[[str], Columns],
    *,
    world: str,
    base: str,
    mean: float,
    laws: Sequence[str],
    learners: Mapping[str, str],
) -> Panels:
    """Return cumulative regret at one expected delay: a panel per law, a line per learner.

    Parameters
    ----------
    runs : Columns
        Final results, with a row per run.
    curves : Callable[[str], Columns]
        Function that returns the regret at each checkpoint of a setting.
    world, base : str
        World and base to select.
    mean : float
        Expected delay to select, in episodes.
    laws : Sequence[str]
        Delay laws, in the order of the panels.
    learners : Mapping[str, str]
        Label in the legend by updater.

    Returns
    -------
    Panels
        Bands; a combination without runs is omitted.
    """
    panels: dict[str, dict[str, Band]] = {}
    for law in laws:
        lines = panels.setdefault(law.capitalize(), {})
        for updater, label in learners.items():
            rows = select_runs(runs, world=world, base=base, law=law, updater=updater)
            settings = np.unique(runs["setting"][rows & (runs["mean_delay"] == mean)].astype(str))
            if settings.size > 1:
                raise ValueError(
                    f"{settings[0]} and {settings[1]} have the same world, base, law, expected "
                    "delay and updater; a line shows one setting."
                )
            if settings.size:
                lines[label] = curve_band(curves(str(settings[0])))
    return panels


def delay_bands(
    runs: Columns,
    *,
    world: str,
    base: str,
    laws: Sequence[str],
    learners: Mapping[str, str],
    per: PanelPer = "learner",
) -> Panels:
    """Return final regret against the expected delay.

    Parameters
    ----------
    runs : Columns
        Final results, with a row per run.
    world, base : str
        World and base to select.
    laws : Sequence[str]
        Delay laws, in the order of the figure.
    learners : Mapping[str, str]
        Label in the figure by updater.
    per : {"learner", "law"}
        "learner" for a panel per learner and a line per law, as in the paper; "law" for the
        reverse.

    Returns
    -------
    Panels
        Bands; a combination without runs is omitted.
    """
    panels: dict[str, dict[str, Band]] = {}
    for panel, line, updater, law in panel_lines(laws, learners, per):
        lines = panels.setdefault(panel, {})
        rows = select_runs(runs, world=world, base=base, law=law, updater=updater)
        if rows.any():
            lines[line] = final_band(runs["mean_delay"][rows], runs["total_regret"][rows])
    return panels


def published_points(
    published: Published,
    *,
    laws: Sequence[str],
    learners: Mapping[str, str],
    per: PanelPer = "learner",
) -> Points:
    """Return published values by the panels and lines of `delay_bands`.

    Parameters
    ----------
    published : Published
        Published final regrets.
    laws, learners, per
        As in `delay_bands`.

    Returns
    -------
    Points
        Value by panel, line and expected delay; empty for a line without published values.
    """
    panels: dict[str, dict[str, dict[float, float]]] = {}
    for panel, line, updater, law in panel_lines(laws, learners, per):
        panels.setdefault(panel, {})[line] = {
            key[2]: value for key, value in sorted(published.items()) if key[:2] == (updater, law)
        }
    return panels


def select_runs(runs: Columns, *, world: str, base: str, law: str, updater: str) -> Bools:
    """Return a mask of the runs of one learner under one law; runs without delay match every law.

    Parameters
    ----------
    runs : Columns
        Final results, with a row per run.
    world, base, law, updater : str
        Values that the columns of these names must have.

    Returns
    -------
    Bools
        Whether each run is selected.
    """
    same_law = (runs["law"] == law) | (runs["mean_delay"] == 0)
    rest = (runs["world"] == world) & (runs["base"] == base) & (runs["updater"] == updater)
    return np.asarray(same_law & rest, np.bool_)


def panel_lines(
    laws: Sequence[str], learners: Mapping[str, str], per: PanelPer
) -> list[tuple[str, str, str, str]]:
    """Return (panel, line, updater, law) for each line of `laws` and `learners`.

    `per` decides whether a panel shows a learner or a law; see `delay_bands`.
    """
    if per == "learner":
        return [(name, law.capitalize(), u, law) for u, name in learners.items() for law in laws]
    return [(law.capitalize(), name, u, law) for law in laws for u, name in learners.items()]


def axis_limit(panels: Panels) -> float | None:
    """Return an upper limit for the y axis of `panels` that cuts off outlying lines, or None.

    None means that no line lies far above the others. Fewer than half of the lines are cut off.
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
    """Return the names of all lines of `panels` without repetition, those in `order` first."""
    if not any(panels.values()):
        raise ValueError("panels must hold at least one line, got none.")
    return list(dict.fromkeys([*order, *(name for lines in panels.values() for name in lines)]))
