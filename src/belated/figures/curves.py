"""Regret curves: one line and one band for each learner."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from belated.figures.bands import Band, band
from belated.figures.looks import LOOKS, Look, looks, saved, sign
from belated.simulation.run import Run

WIDTH: Final = 90
"""Characters of the command on a line."""


def regret_curves(
    groups: Mapping[str, Sequence[Run]], path: str | Path, *, title: str, command: str
) -> list[Path]:
    """Draw mean regret and the central 95% of runs for each learner; returns the files.

    `path` comes without a suffix: one PDF and one PNG are written. `command` is what makes the
    figure again, and stands below it.
    """
    if not groups:
        raise ValueError("groups is empty; a figure needs the runs of at least one learner.")
    with style.context(["default", LOOKS]):
        figure = drawn(groups, title=title, command=command)
        return saved(figure, Path(path))


def drawn(groups: Mapping[str, Sequence[Run]], *, title: str, command: str) -> Figure:
    """The figure, not yet on disk."""
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, look in looks(groups).items():
        draw_band(axes, band(groups[name]), look, label=name)
    axes.set_title(title, loc="left")
    axes.set_xlabel("Episode")
    axes.set_ylabel("Cumulative regret")
    start_at_zero(axes)
    # Regret rises and flattens, so this corner is free.
    axes.legend(loc="lower right", title="Mean and central 95% of runs", alignment="left")
    sign(figure, command, width=WIDTH)
    return figure


def draw_band(axes: Axes, lines: Band, look: Look, *, label: str, marked: bool = False) -> None:
    """The mean as a line, the band as a shade with thin edges."""
    axes.fill_between(lines.x, lines.low, lines.high, color=look.colour, alpha=0.12, linewidth=0)
    for edge in (lines.low, lines.high):
        axes.plot(lines.x, edge, color=look.colour, linestyle=look.linestyle, linewidth=0.5)
    axes.plot(
        lines.x,
        lines.mean,
        color=look.colour,
        linestyle=look.linestyle,
        marker=look.marker if marked else "",
        markersize=4,
        label=label,
    )


def start_at_zero(axes: Axes) -> None:
    """Both axes from zero, with separators in large numbers."""
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
