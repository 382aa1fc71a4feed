"""Panels: figures in the paper's manner, several panels side by side under one legend."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from belated.figures.bands import Panels, ceiling, names_of
from belated.figures.columns import Points
from belated.figures.curves import draw_band, start_at_zero
from belated.figures.looks import (
    BAND_NOTE,
    COLUMNS,
    LAW_PALETTE,
    LOOKS,
    PALETTE,
    SMALL_PRINT,
    Look,
    looks,
    saved,
)

CUT_NOTE: Final = "Lines that leave a panel end at the value beside the arrow."

PANEL: Final = (2.4, 2.1)
ENTRY: Final = (1.75, 0.22)
LETTER: Final = (0.053, 0.115)
"""Width and height, in inches, of a panel, an entry of the legend and a letter of small print."""


def regret_panels(
    panels: Panels,
    path: str | Path,
    *,
    title: str,
    command: str,
    order: Sequence[str] = (),
) -> list[Path]:
    """Draw cumulative regret over episodes; returns the files, a PDF and a PNG.

    `path` comes without a suffix. `command` is what makes the figure again, and stands below it.
    `order` names all learners of a study, so that each keeps its colour where some are missing.
    Learners far above the others leave the panel, and a note in it says where to.
    """
    with style.context(["default", LOOKS]):
        figure = drawn_regret(panels, title=title, command=command, order=order)
        return saved(figure, Path(path))


def delay_panels(
    panels: Panels,
    path: str | Path,
    *,
    title: str,
    command: str,
    published: Points | None = None,
    order: Sequence[str] = (),
    palette: Sequence[str] = LAW_PALETTE,
) -> list[Path]:
    """Draw final regret against the expected delay; returns the files, a PDF and a PNG.

    The lines are laws, or learners with `palette=PALETTE`. Published values are hollow markers.
    """
    with style.context(["default", LOOKS]):
        figure = drawn_delay(
            panels, title=title, command=command, published=published, order=order, palette=palette
        )
        return saved(figure, Path(path))


def drawn_regret(panels: Panels, *, title: str, command: str, order: Sequence[str] = ()) -> Figure:
    """The figure of cumulative regret, not yet on disk."""
    shown = looks(names_of(panels, order), PALETTE)
    limit = ceiling(panels)
    leaving = {
        panel: {n: float(b.mean[-1]) for n, b in lines.items() if limit and b.mean.max() > limit}
        for panel, lines in panels.items()
    }
    note = f"{BAND_NOTE} {CUT_NOTE}" if any(leaving.values()) else BAND_NOTE
    figure, grid = laid_out(panels, title, legend(panels, shown), [note, command])
    for axes, (panel, lines) in zip(grid, panels.items(), strict=True):
        for name, look in shown.items():
            if name in lines:
                draw_band(axes, lines[name], look, label=name)
        point_out(axes, leaving[panel], shown)
    finish(grid, x="Episode", y="Cumulative regret", ticks=3)
    grid[0].set_ylim(top=limit)
    return figure


def drawn_delay(
    panels: Panels,
    *,
    title: str,
    command: str,
    published: Points | None = None,
    order: Sequence[str] = (),
    palette: Sequence[str] = LAW_PALETTE,
) -> Figure:
    """The figure of delay dependence, not yet on disk."""
    shown = looks(names_of(panels, order), palette)
    handles = legend(panels, shown, marked=True)
    if published:
        grey = Look("0.3", (), "o", "circle")
        handles.append(Line2D([], [], label="Published", **hollow(grey)))
    figure, grid = laid_out(panels, title, handles, [BAND_NOTE, command])
    for axes, (panel, lines) in zip(grid, panels.items(), strict=True):
        for name, look in shown.items():
            if name in lines:
                draw_band(axes, lines[name], look, label=name, marked=True)
            points = (published or {}).get(panel, {}).get(name, {})
            axes.plot([*points], [*points.values()], **hollow(look))
    finish(grid, x="Expected delay E[τ]", y="Final regret", ticks=6)
    last = max(float(band.x.max()) for lines in panels.values() for band in lines.values())
    margin = 0.04 * (last or 1.0)  # for the markers at the ends
    grid[0].set_xlim(-margin, last + margin)
    return figure


def laid_out(
    panels: Panels, title: str, handles: Sequence[Line2D], notes: Sequence[str]
) -> tuple[Figure, list[Axes]]:
    """A figure of empty panels, with a legend below them and the notes at the foot."""
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    width = 0.5 + max(2, columns) * PANEL[0]
    letters = int(width / LETTER[0])
    text = [line for note in notes for line in textwrap.wrap(note, letters)]
    in_a_row = int(width / ENTRY[0])
    text_height = 0.06 + LETTER[1] * len(text)
    foot = text_height + ENTRY[1] * -(-len(handles) // in_a_row)
    height = foot + 0.3 + PANEL[1] * rows + 0.3
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    figure.set_layout_engine(
        "constrained", rect=(0, foot / height, 1, 1 - foot / height), wspace=0.03
    )
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.remove()
    for axes, panel in zip(grid, panels, strict=False):
        axes.set_title(panel, loc="left", fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, foot / height),
        ncols=in_a_row,
        frameon=False,
        borderaxespad=0,
    ).set_in_layout(False)
    note = figure.text(0.01, 0.04 / height, "\n".join(text), va="bottom", **SMALL_PRINT)
    note.set_in_layout(False)
    return figure, list(grid[: len(panels)])


def legend(panels: Panels, shown: dict[str, Look], *, marked: bool = False) -> list[Line2D]:
    """What each line looks like."""
    drawn = {name for lines in panels.values() for name in lines}
    return [
        Line2D(
            [],
            [],
            color=look.colour,
            linestyle=look.linestyle,
            marker=look.marker if marked else "",
            markersize=4,
            label=name,
        )
        for name, look in shown.items()
        if name in drawn
    ]


def hollow(look: Look) -> dict[str, Any]:
    """How published values are drawn."""
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 7,
        "markerfacecolor": "none",
        "markeredgecolor": look.colour,
        "markeredgewidth": 0.8,
    }


def finish(grid: Sequence[Axes], *, x: str, y: str, ticks: int) -> None:
    """Name the axes; they are shared, so their limits come after all lines."""
    columns = min(COLUMNS, len(grid))
    for place, axes in enumerate(grid):
        axes.tick_params(labelsize=8)
        if place + columns >= len(grid):
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
        if place % columns == 0:
            axes.set_ylabel(y)
    start_at_zero(grid[0])
    grid[0].xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 5, 10]))


def point_out(axes: Axes, leaving: dict[str, float], shown: dict[str, Look]) -> None:
    """Say where the lines that leave the panel end."""
    for place, (name, value) in enumerate(leaving.items()):
        axes.text(
            0.98,
            0.98 - 0.09 * place,
            f"{name} ↑ {value:,.0f}",
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=7,
            color=shown[name].colour,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},  # a line may pass below
        )
