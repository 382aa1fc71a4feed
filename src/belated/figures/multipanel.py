"""Figures in the paper's layout: several panels side by side with one legend below them."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from belated.figures.curves import (
    LEGEND_CHAR_IN,
    LEGEND_HANDLE_IN,
    draw_band,
    leave_room_for_markers,
    start_at_zero,
)
from belated.figures.names import wrap
from belated.figures.styles import (
    BAND_NOTE,
    FOOTER,
    LAW_PALETTE,
    MAX_PANEL_COLUMNS,
    PALETTE,
    RC_PARAMS,
    LineStyle,
    hollow_marker,
    legend_handles,
    line_styles,
    save_figure,
)
from belated.sweep.bands import Panels, Points, axis_limit, line_names

CUT_NOTE: Final = "Lines that leave a panel end at the value beside the arrow."

PANEL_SIZE_IN: Final = (2.4, 2.1)
SINGLE_PANEL_HEIGHT_IN: Final = 3.0
"""Height, in inches, of the panel of a figure with only one panel.

Such a panel is as wide as two panels of other figures.
"""

MAX_CUT_CHARS: Final = 22
"""Maximum number of characters of the name of a line in a note written by `write_cut_values`.

A note gives the final value of a line that is cut off at the top of its panel. Longer names are
omitted from the note.
"""

PANEL_TITLE_CHARS: Final = 30
"""Maximum number of characters in a line of the title of a panel."""

TITLE_CHAR_IN: Final = 0.08
"""Width of a character of the title of a figure, in inches."""

TITLE_LINE_IN: Final = 0.15
"""Height of a line of the title of a panel, in inches."""

LEGEND_ENTRY_SIZE_IN: Final = (1.75, 0.22)
FOOTER_CHAR_SIZE_IN: Final = (0.053, 0.115)
"""Width and height in inches of a character at the foot of a figure.

`PANEL_SIZE_IN` and `LEGEND_ENTRY_SIZE_IN` are widths and heights in inches too.
"""


def regret_panels(
    panels: Panels,
    path: str | Path,
    *,
    title: str,
    command: str,
    order: Sequence[str] = (),
) -> list[Path]:
    """Draw cumulative regret over episodes, and write the figure as PDF and PNG.

    Lines far above the others are cut off, and a note in the panel gives their final values.

    Parameters
    ----------
    panels : Panels
        Lines of each panel.
    path : str or Path
        Path of the files, without suffix.
    title : str
        Title of the figure.
    command : str
        Command that reproduces the figure, printed below it.
    order : Sequence[str]
        Labels of all lines of a study. If given, a line has the same colour in every figure, even
        in figures that lack some of the other lines.

    Returns
    -------
    list[Path]
        The files written, a PDF and a PNG.
    """
    with style.context(["default", RC_PARAMS]):
        figure = build_regret_figure(panels, title=title, command=command, order=order)
        return save_figure(figure, Path(path))


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
    """Draw final regret against the expected delay, and write the figure as PDF and PNG.

    Parameters
    ----------
    panels, path, title, command, order
        As in `regret_panels`.
    published : Points or None
        Published values, drawn as hollow markers; None to draw none.
    palette : Sequence[str]
        Colours: `LAW_PALETTE` if the lines are laws, `PALETTE` if they are learners.

    Returns
    -------
    list[Path]
        The files written, a PDF and a PNG.
    """
    with style.context(["default", RC_PARAMS]):
        figure = build_delay_figure(
            panels, title=title, command=command, published=published, order=order, palette=palette
        )
        return save_figure(figure, Path(path))


def build_regret_figure(
    panels: Panels,
    *,
    title: str,
    command: str = "",
    order: Sequence[str] = (),
    styles: Mapping[str, LineStyle] | None = None,
    make: Callable[[], Figure] = Figure,
    share_y: bool = True,
) -> Figure:
    """Return the figure of `regret_panels` without saving it.

    Parameters
    ----------
    panels, title, command, order
        As in `regret_panels`.
    styles : Mapping[str, LineStyle] or None
        Map from the label of a line to its style, in the order of the legend; None for the default
        styles.
    make : Callable[[], Figure]
        Function that returns an empty figure.
    share_y : bool
        Whether all panels have the same y axis.

    Returns
    -------
    Figure
        The figure.
    """
    styles = styles or line_styles(line_names(panels, order), PALETTE)
    limits = {
        panel: axis_limit(panels if share_y else {panel: lines}) for panel, lines in panels.items()
    }
    cut = {
        panel: {
            name: float(line.mean[-1])
            for name, line in lines.items()
            if (limit := limits[panel]) and line.mean.max() > limit
        }
        for panel, lines in panels.items()
    }
    note = f"{BAND_NOTE} {CUT_NOTE}" if any(cut.values()) else BAND_NOTE
    handles = legend_handles(panels, styles)
    figure, grid = build_grid(panels, title, handles, [note, command], make=make, share_y=share_y)
    for axes, (panel, lines) in zip(grid, panels.items(), strict=True):
        for name, line_style in styles.items():
            if name in lines:
                draw_band(axes, lines[name], line_style, label=name)
        write_cut_values(axes, cut[panel], styles)
    format_axes(grid, x="Episode", y="Cumulative regret", ticks=3)
    for axes, limit in zip(grid, limits.values(), strict=True):
        axes.set_ylim(top=limit)
    return figure


def build_delay_figure(
    panels: Panels,
    *,
    title: str,
    command: str = "",
    published: Points | None = None,
    order: Sequence[str] = (),
    palette: Sequence[str] = LAW_PALETTE,
    styles: Mapping[str, LineStyle] | None = None,
    x: str = "Expected delay E[τ]",
    make: Callable[[], Figure] = Figure,
    share_y: bool = True,
) -> Figure:
    """Return the figure of `delay_panels` without saving it.

    Parameters
    ----------
    panels, title, command, published, order, palette
        As in `delay_panels`.
    styles, make, share_y
        As in `build_regret_figure`.
    x : str
        Label of the x axis.

    Returns
    -------
    Figure
        The figure.
    """
    styles = styles or line_styles(line_names(panels, order), palette)
    handles = legend_handles(panels, styles, markers=True)
    if published:
        grey = LineStyle("0.3", (), "o", "circle")
        handles.append(Line2D([], [], label="Published", **hollow_marker(grey)))
    figure, grid = build_grid(
        panels, title, handles, [BAND_NOTE, command], make=make, share_y=share_y
    )
    for axes, (panel, lines) in zip(grid, panels.items(), strict=True):
        for name, line_style in styles.items():
            if name in lines:
                draw_band(axes, lines[name], line_style, label=name, markers=True)
            points = (published or {}).get(panel, {}).get(name, {})
            axes.plot([*points], [*points.values()], **hollow_marker(line_style))
    format_axes(grid, x=x, y="Final regret", ticks=6)
    leave_room_for_markers(grid[0], [band for lines in panels.values() for band in lines.values()])
    return figure


def build_grid(
    panels: Panels,
    title: str,
    handles: Sequence[Line2D],
    notes: Sequence[str],
    *,
    make: Callable[[], Figure] = Figure,
    share_y: bool = True,
) -> tuple[Figure, list[Axes]]:
    """Return a figure of empty panels, with a legend and notes below the panels.

    Parameters
    ----------
    panels : Panels
        Panels; only their titles are used.
    title : str
        Title of the figure.
    handles : Sequence[Line2D]
        Entries of the legend.
    notes : Sequence[str]
        Paragraphs at the foot of the figure.
    make, share_y
        As in `build_regret_figure`.

    Returns
    -------
    tuple[Figure, list[Axes]]
        The figure, and the axes of its panels, row by row.
    """
    # Sizes in inches. The heights of text and legend are added, so that panels do not shrink.
    columns = min(MAX_PANEL_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    width = 0.5 + max(2, columns) * PANEL_SIZE_IN[0]
    line_chars = int(width / FOOTER_CHAR_SIZE_IN[0])
    text = [line for note in notes for line in textwrap.wrap(note, line_chars)]
    longest = max(len(str(handle.get_label())) for handle in handles)
    entry_width = max(LEGEND_ENTRY_SIZE_IN[0], LEGEND_HANDLE_IN + LEGEND_CHAR_IN * longest)
    entries_per_row = max(1, int(width / entry_width))
    titles = [wrap(panel, PANEL_TITLE_CHARS) for panel in panels]
    title_lines = max(panel.count("\n") for panel in titles)
    text_height = 0.06 + FOOTER_CHAR_SIZE_IN[1] * len(text)
    foot = text_height + LEGEND_ENTRY_SIZE_IN[1] * -(-len(handles) // entries_per_row)
    panel_height = SINGLE_PANEL_HEIGHT_IN if len(panels) == 1 else PANEL_SIZE_IN[1]
    height = foot + 0.3 + (panel_height + TITLE_LINE_IN * title_lines) * rows + 0.3
    figure = make()
    figure.set_size_inches(width, height)
    figure.set_layout_engine(
        "constrained", rect=(0, foot / height, 1, 1 - foot / height), wspace=0.03
    )
    grid = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.remove()
    for axes, panel in zip(grid, titles, strict=False):
        axes.set_title(panel, loc="left", fontsize=9)
    figure.suptitle(wrap(title, int(width / TITLE_CHAR_IN)), x=0.01, ha="left", fontsize=10)
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, foot / height),
        ncols=entries_per_row,
        frameon=False,
        borderaxespad=0,
    )
    figure.text(0.01, 0.04 / height, "\n".join(text), va="bottom", **FOOTER)
    return figure, list(grid[: len(panels)])


def format_axes(grid: Sequence[Axes], *, x: str, y: str, ticks: int) -> None:
    """Label the outer axes of a grid of panels, and set the shared axis limits and ticks.

    Call this function after all lines are drawn.

    Parameters
    ----------
    grid : Sequence[Axes]
        Axes of the panels, row by row.
    x, y : str
        Axis labels.
    ticks : int
        Maximum number of intervals into which the ticks divide the x axis.
    """
    columns = min(MAX_PANEL_COLUMNS, len(grid))
    for index, axes in enumerate(grid):
        axes.tick_params(labelsize=8)
        if index + columns >= len(grid):
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
        if index % columns == 0:
            axes.set_ylabel(y)
    for axes in grid:
        start_at_zero(axes)
    grid[0].xaxis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 5, 10]))


def write_cut_values(axes: Axes, values: dict[str, float], styles: Mapping[str, LineStyle]) -> None:
    """Annotate a panel with the final values of the lines that are cut off by its y-axis limit.

    Each annotation has the colour of its line. It contains the name of the line, unless the name is
    longer than `MAX_CUT_CHARS`, and the final value.

    Parameters
    ----------
    axes : Axes
        Axes of the panel.
    values : dict[str, float]
        Map from the name of each line that is cut off to its final value.
    styles : Mapping[str, LineStyle]
        Map from the name of a line to its style, which determines the colour of the text.
    """
    for index, (name, value) in enumerate(values.items()):
        axes.text(
            0.98,
            0.98 - 0.09 * index,
            f"{name if len(name) <= MAX_CUT_CHARS else ''} ↑ {value:,.0f}".strip(),
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=7,
            color=styles[name].colour,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},  # hides lines behind it
        )
