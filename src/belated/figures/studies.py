"""Figures of a study: for each world and base, regret over episodes, and final regret by delay."""

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
"""Minimum number of distinct expected delays for a panel of final regret against the delay."""


def draw_study(
    runs: Columns, curves: Callable[[str], Columns], folder: Path, *, command: str
) -> list[Path]:
    """Draw all figures of a study, and write each as PDF and PNG.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    curves : Callable[[str], Columns]
        Function from the id of a setting to its columns seed, episode and regret, with one row per
        run and checkpoint.
    folder : Path
        Folder for the files.
    command : str
        Command that reproduces the figures, printed below each figure.

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
    """Return the legend label of each run.

    A label starts with the updater of the run. If the options `late` or `delay_per` differ between
    `runs`, their values are part of the label.
    """
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
    """Return the bands of cumulative regret over episodes, with a panel for each delay.

    Parameters
    ----------
    runs, curves
        As in `draw_study`.
    names : NDArray
        Label of each run.
    mask : Bools
        Whether to include each run.

    Returns
    -------
    Panels
        Panels by delay (law and mean), with a line for each setting.
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
    """Return the bands of final regret against the expected delay, with a panel for each law.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    names : NDArray
        Label of each run.
    mask : Bools
        Whether to include each run.
    order : list[str]
        Labels in the order of the legend.

    Returns
    -------
    Panels
        Panels by law, with a line for each label. Laws with fewer than `MIN_DELAYS_PER_LINE`
        distinct finite expected delays are omitted.
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
    """Split `panels` into figures of at most `PANELS_PER_FIGURE` panels.

    Yield the suffix of the file name and the panels of each figure. The suffix is empty if there is
    only one figure.
    """
    names = list(panels)
    for first in range(0, len(names), PANELS_PER_FIGURE):
        number = f"-{first // PANELS_PER_FIGURE + 1}" if len(names) > PANELS_PER_FIGURE else ""
        yield number, {name: panels[name] for name in names[first : first + PANELS_PER_FIGURE]}
