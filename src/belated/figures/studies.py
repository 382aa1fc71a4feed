"""The figures of a study: for each world and base, regret over episodes and against the delay."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.figures.bands import Band, Panels
from belated.figures.columns import Columns, curve_band, final_band
from belated.figures.looks import PALETTE
from belated.figures.panels import delay_panels, regret_panels

PANELS = 4
"""Panels in one figure."""

ENOUGH = 3
"""Expected delays that make a line."""


def draw_study(
    runs: Columns, curves: Callable[[str], Columns], folder: Path, *, command: str
) -> list[Path]:
    """Draw all there is to draw; returns the files."""
    names = line_names(runs)
    paths = []
    for world, base in sorted({*zip(runs["world"], runs["base"], strict=True)}):
        here = (runs["world"] == world) & (runs["base"] == base)
        order = list(dict.fromkeys(names[here]))
        title = f"{world}, {base}"
        for number, panels in parted(over_episodes(runs, curves, names, here)):
            path = folder / f"{world}-{base}{number}"
            paths += regret_panels(panels, path, title=title, command=command, order=order)
        for number, panels in parted(against_delay(runs, names, here, order)):
            path = folder / f"{world}-{base}-delays{number}"
            paths += delay_panels(
                panels, path, title=title, command=command, order=order, palette=PALETTE
            )
    return paths


def line_names(runs: Columns) -> NDArray[Any]:
    """What tells the runs of one world, base and delay apart: the updater, and what is late."""
    names = runs["updater"].astype(object)
    for column, value, words, otherwise in (
        ("late", "rewards", ", only rewards late", ", everything late"),
        ("delay_per", "step", ", step by step", ", whole episodes"),
    ):
        if column in runs and len(set(runs[column])) > 1:
            names = names + np.where(runs[column] == value, words, otherwise)
    return names


def over_episodes(
    runs: Columns, curves: Callable[[str], Columns], names: NDArray[Any], here: NDArray[Any]
) -> Panels:
    """Cumulative regret: a panel for each delay."""
    panels: dict[str, dict[str, Band]] = {}
    for delay in dict.fromkeys(runs["delay"][here]):
        rows = np.flatnonzero(here & (runs["delay"] == delay))
        settings = {str(runs["setting"][row]): str(names[row]) for row in rows}
        panels[str(delay)] = {
            name: curve_band(curves(setting)) for setting, name in settings.items()
        }
    return panels


def against_delay(
    runs: Columns, names: NDArray[Any], here: NDArray[Any], order: list[str]
) -> Panels:
    """Final regret: a panel for each law with expected delays enough for a line."""
    panels: dict[str, dict[str, Band]] = {}
    for law in dict.fromkeys(runs["law"][here & (runs["mean_delay"] > 0)]):
        rows = here & ((runs["law"] == law) | (runs["mean_delay"] == 0))
        rows &= np.isfinite(runs["mean_delay"])
        if np.unique(runs["mean_delay"][rows]).size < ENOUGH:
            continue
        lines = panels.setdefault(str(law).capitalize(), {})
        for name in order:
            mine = rows & (names == name)
            if mine.any():
                lines[name] = final_band(runs["mean_delay"][mine], runs["total_regret"][mine])
    return panels


def parted(panels: Panels) -> Iterator[tuple[str, Panels]]:
    """The panels of one figure after another, and what the figure's name ends in."""
    names = list(panels)
    for first in range(0, len(names), PANELS):
        suffix = f"-{first // PANELS + 1}" if len(names) > PANELS else ""
        yield suffix, {name: panels[name] for name in names[first : first + PANELS]}
