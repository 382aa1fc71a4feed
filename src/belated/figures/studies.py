"""Figures of a study: for each world and base, regret over episodes and against the delay."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.episode import Bools
from belated.figures.bands import Band, Columns, Panels, curve_band, final_band
from belated.figures.multipanel import delay_panels, regret_panels
from belated.figures.styles import PALETTE

PANELS_PER_FIGURE = 4

MIN_DELAYS_PER_LINE = 3
"""Minimum number of expected delays for which final regret is drawn against the delay."""


def draw_study(
    runs: Columns, curves: Callable[[str], Columns], folder: Path, *, command: str
) -> list[Path]:
    """Draw all figures of a study.

    Parameters
    ----------
    runs : Columns
        Final results, with a row per run.
    curves : Callable[[str], Columns]
        Function that returns the regret at each checkpoint of a setting.
    folder : Path
        Folder for the files.
    command : str
        Command that reproduces the figures, printed below each.

    Returns
    -------
    list[Path]
        The files written.
    """
    names = line_labels(runs)
    paths = []
    for world, base in sorted({*zip(runs["world"], runs["base"], strict=True)}):
        mask = (runs["world"] == world) & (runs["base"] == base)
        order = list(dict.fromkeys(names[mask]))
        title = f"{world}, {base}"
        for suffix, panels in split_panels(regret_by_delay(runs, curves, names, mask)):
            path = folder / f"{world}-{base}{suffix}"
            paths += regret_panels(panels, path, title=title, command=command, order=order)
        for suffix, panels in split_panels(final_regret_by_law(runs, names, mask, order)):
            path = folder / f"{world}-{base}-delays{suffix}"
            paths += delay_panels(
                panels, path, title=title, command=command, order=order, palette=PALETTE
            )
    return paths


def line_labels(runs: Columns) -> NDArray[Any]:
    """Return the label of each of `runs`: its updater and, if they vary, `late` and `delay_per`."""
    names = runs["updater"].astype(object)
    for column, value, label, other_label in (
        ("late", "rewards", ", only rewards late", ", everything late"),
        ("delay_per", "step", ", step by step", ", whole episodes"),
    ):
        if column in runs and len(set(runs[column])) > 1:
            names = names + np.where(runs[column] == value, label, other_label)
    return names


def regret_by_delay(
    runs: Columns, curves: Callable[[str], Columns], names: NDArray[Any], mask: Bools
) -> Panels:
    """Return cumulative regret with a panel for each delay law and mean.

    Parameters
    ----------
    runs, curves
        As in `draw_study`.
    names : NDArray
        Label of each run.
    mask : Bools
        Runs to include.

    Returns
    -------
    Panels
        A line for each setting.
    """
    panels: dict[str, dict[str, Band]] = {}
    for delay in dict.fromkeys(runs["delay"][mask]):
        rows = np.flatnonzero(mask & (runs["delay"] == delay))
        settings = {str(runs["setting"][row]): str(names[row]) for row in rows}
        panels[str(delay)] = {
            name: curve_band(curves(setting)) for setting, name in settings.items()
        }
    return panels


def final_regret_by_law(
    runs: Columns, names: NDArray[Any], mask: Bools, order: list[str]
) -> Panels:
    """Return final regret against the expected delay with a panel for each law.

    Parameters
    ----------
    runs : Columns
        Final results, with a row per run.
    names : NDArray
        Label of each run.
    mask : Bools
        Runs to include.
    order : list[str]
        Labels in the order of the legend.

    Returns
    -------
    Panels
        Laws with at least `MIN_DELAYS_PER_LINE` finite expected delays.
    """
    panels: dict[str, dict[str, Band]] = {}
    for law in dict.fromkeys(runs["law"][mask & (runs["mean_delay"] > 0)]):
        rows = mask & ((runs["law"] == law) | (runs["mean_delay"] == 0))
        rows &= np.isfinite(runs["mean_delay"])
        if np.unique(runs["mean_delay"][rows]).size < MIN_DELAYS_PER_LINE:
            continue
        panels[str(law).capitalize()] = {
            name: final_band(runs["mean_delay"][line], runs["total_regret"][line])
            for name in order
            if (line := rows & (names == name)).any()
        }
    return panels


def split_panels(panels: Panels) -> Iterator[tuple[str, Panels]]:
    """Yield the suffix of the file name and the panels of each figure that `panels` fill."""
    names = list(panels)
    for first in range(0, len(names), PANELS_PER_FIGURE):
        number = f"-{first // PANELS_PER_FIGURE + 1}" if len(names) > PANELS_PER_FIGURE else ""
        yield number, {name: panels[name] for name in names[first : first + PANELS_PER_FIGURE]}
