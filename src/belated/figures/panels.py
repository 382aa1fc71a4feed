"""Panels of lines side by side with one legend: described once, drawn in files, notebooks, reports.

`regret_figure` and `delay_figure` describe the two kinds of figures of the paper, and
`PanelFigure` draws them.
"""

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from belated.figures.names import wrap
from belated.figures.styles import (
    FOOTER,
    LAW_PALETTE,
    LEGEND_CHAR_IN,
    LEGEND_HANDLE_IN,
    PALETTE,
    RC_PARAMS,
    LineStyle,
    draw_band,
    hollow_marker,
    leave_room_for_markers,
    line_styles,
    save_figure,
    start_at_zero,
)
from belated.simulation.run import Run
from belated.sweep.bands import Band, Panels, Points, axis_limit, band, line_names

BAND_NOTE: Final = "Lines are means over runs, bands the central 95% of them."
CUT_NOTE: Final = "Lines that leave a panel end at the value beside the arrow."
PUBLISHED_NOTE: Final = "Hollow markers are the published values."

MAX_PANEL_COLUMNS: Final = 4
"""Maximum number of panels in a row of a figure."""

PANEL_SIZE_IN: Final = (2.4, 2.1)
SINGLE_PANEL_HEIGHT_IN: Final = 3.0
"""Height, in inches, of the panel of a figure with only one panel.

Such a panel is as wide as two panels of other figures.
"""

MAX_CUT_CHARS: Final = 22
"""Maximum number of characters of the name of a line in a note of `PanelFigure.write_cut_values`.

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

MAX_SVG_POINTS: Final = 80
"""Maximum number of points of a line in an SVG, the first point apart."""

SVG_POINT: Final = re.compile(r"(?m)^(L -?\d+\.\d\d)\d* (-?\d+\.\d\d)\d* $")
"""Point of a line in an SVG; its groups have two decimals, hundredths of a typographic point."""


@dataclass(frozen=True, kw_only=True)
class PanelFigure:
    """Figure with panels of lines and bands.

    Lines far above the others are cut off, and a note in the panel gives their final values.
    """

    panels: Panels
    styles: Mapping[str, LineStyle]  # style of each line, in the order of the legend
    title: str
    command: str = ""  # reproduces the figure
    x: str = "Episode"
    y: str = "Cumulative regret"
    x_ticks: int = 3  # maximum number of intervals between ticks of the x axis
    markers: bool = False  # mark the points of each line, and cut no line off
    published: Points = field(default_factory=dict)  # drawn as hollow markers
    share_y: bool = True  # all panels have the same y axis

    def save(self, path: str | Path) -> list[Path]:
        """Write the figure as PDF and PNG, and return the paths of both files.

        `path` is the path of the files without suffix.
        """
        with style.context(["default", RC_PARAMS]):
            return save_figure(self.draw(), Path(path))

    def svg(self, *, full: bool = False) -> str:
        """Return the figure as SVG without title and notes, which a page shows as text.

        Each line is reduced to its first point and at most `MAX_SVG_POINTS` others. If `full`, no
        line is cut off.
        """
        thinned = {
            panel: {name: thin(line) for name, line in lines.items()}
            for panel, lines in self.panels.items()
        }
        file = io.StringIO()
        with style.context(["default", RC_PARAMS]):
            figure = replace(self, panels=thinned).draw(full=full, caption=False)
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return SVG_POINT.sub(r"\1 \2 ", file.getvalue())

    def draw(
        self, *, full: bool = False, caption: bool = True, make: Callable[[], Figure] = Figure
    ) -> Figure:
        """Return the figure without saving it.

        Parameters
        ----------
        full : bool
            Whether to show all lines in full, so that none is cut off.
        caption : bool
            Whether to write title, notes and command into the figure.
        make : Callable[[], Figure]
            Function that returns an empty figure.

        Returns
        -------
        Figure
            The figure.
        """
        figure, grid = self.build_grid(caption=caption, make=make)
        limits = dict.fromkeys(self.panels) if full else self.limits()
        cut = {} if full else self.cut_values()
        for axes, (panel, lines) in zip(grid, self.panels.items(), strict=True):
            for name, line_style in self.styles.items():
                if name in lines:
                    draw_band(axes, lines[name], line_style, label=name, markers=self.markers)
                points = self.published.get(panel, {}).get(name, {})
                if points:
                    axes.plot([*points], [*points.values()], **hollow_marker(line_style))
            self.write_cut_values(axes, cut.get(panel, {}))
        self.format_axes(grid)
        for axes, limit in zip(grid, limits.values(), strict=True):
            axes.set_ylim(top=limit)
        if self.markers:
            every = [line for lines in self.panels.values() for line in lines.values()]
            leave_room_for_markers(grid[0], every)
        return figure

    def limits(self) -> dict[str, float | None]:
        """Return the upper limit of the y axis of each panel; None where no line is cut off."""
        if self.markers:
            return dict.fromkeys(self.panels)
        if self.share_y:
            return dict.fromkeys(self.panels, axis_limit(self.panels))
        return {panel: axis_limit({panel: lines}) for panel, lines in self.panels.items()}

    def cut_values(self) -> dict[str, dict[str, float]]:
        """Return the final values of the lines of each panel that are cut off."""
        limits = self.limits()
        return {
            panel: {
                name: float(line.mean[-1])
                for name, line in lines.items()
                if (limit := limits[panel]) and line.mean.max() > limit
            }
            for panel, lines in self.panels.items()
        }

    def notes(self) -> str:
        """Return sentences that explain bands, cut lines and hollow markers."""
        notes = [BAND_NOTE]
        if any(self.cut_values().values()):
            notes.append(CUT_NOTE)
        if any(points for lines in self.published.values() for points in lines.values()):
            notes.append(PUBLISHED_NOTE)
        return " ".join(notes)

    def legend_entries(self) -> list[Line2D]:
        """Return the entries of the legend."""
        present = {name for lines in self.panels.values() for name in lines}
        handles = [
            Line2D(
                *([], []),
                color=line_style.colour,
                linestyle=line_style.linestyle,
                marker=line_style.marker if self.markers else "",
                markersize=4,
                label=name,
            )
            for name, line_style in self.styles.items()
            if name in present
        ]
        if self.published:
            grey = LineStyle("0.3", (), "o")
            handles.append(Line2D([], [], label="Published", **hollow_marker(grey)))
        return handles

    def build_grid(self, *, caption: bool, make: Callable[[], Figure]) -> tuple[Figure, list[Axes]]:
        """Return a figure of empty panels with a legend, and the axes of its panels, row by row.

        `caption` and `make` are those of `draw`.
        """
        # Sizes in inches. The heights of text and legend are added, so that panels do not shrink.
        columns = min(MAX_PANEL_COLUMNS, len(self.panels))
        rows = -(-len(self.panels) // columns)
        width = 0.5 + max(2, columns) * PANEL_SIZE_IN[0]
        line_chars = int(width / FOOTER_CHAR_SIZE_IN[0])
        paragraphs = [self.notes(), self.command] if caption else []
        text = [line for note in paragraphs for line in textwrap.wrap(note, line_chars)]
        handles = self.legend_entries()
        longest = max(len(str(handle.get_label())) for handle in handles)
        entry_width = max(LEGEND_ENTRY_SIZE_IN[0], LEGEND_HANDLE_IN + LEGEND_CHAR_IN * longest)
        legend_rows = -(-len(handles) // max(1, int(width / entry_width)))
        titles = [wrap(panel, PANEL_TITLE_CHARS) for panel in self.panels]
        title_lines = max(panel.count("\n") for panel in titles)
        text_height = 0.06 + FOOTER_CHAR_SIZE_IN[1] * len(text)
        foot = text_height + LEGEND_ENTRY_SIZE_IN[1] * legend_rows
        panel_height = SINGLE_PANEL_HEIGHT_IN if len(self.panels) == 1 else PANEL_SIZE_IN[1]
        height = foot + 0.3 + (panel_height + TITLE_LINE_IN * title_lines) * rows + 0.3
        figure = make()
        figure.set_size_inches(width, height)
        figure.set_layout_engine(
            "constrained", rect=(0, foot / height, 1, 1 - foot / height), wspace=0.03
        )
        grid = figure.subplots(
            rows, columns, sharex=True, sharey=self.share_y, squeeze=False
        ).ravel()
        for axes in grid[len(self.panels) :]:
            axes.remove()
        for axes, panel in zip(grid, titles, strict=False):
            axes.set_title(panel, loc="left", fontsize=9)
        if caption:
            title = wrap(self.title, int(width / TITLE_CHAR_IN))
            figure.suptitle(title, x=0.01, ha="left", fontsize=10)
            figure.text(0.01, 0.04 / height, "\n".join(text), va="bottom", **FOOTER)
        figure.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, foot / height),
            ncols=-(-len(handles) // legend_rows),
            frameon=False,
            borderaxespad=0,
        )
        return figure, list(grid[: len(self.panels)])

    def format_axes(self, grid: Sequence[Axes]) -> None:
        """Label the outer axes of the panels, and set the shared axis limits and ticks.

        Call this method after all lines are drawn. `grid` contains the axes of the panels, row by
        row.
        """
        columns = min(MAX_PANEL_COLUMNS, len(grid))
        for index, axes in enumerate(grid):
            axes.tick_params(labelsize=8)
            if index + columns >= len(grid):
                axes.set_xlabel(self.x)
                axes.tick_params(labelbottom=True)
            if index % columns == 0:
                axes.set_ylabel(self.y)
            start_at_zero(axes)
        grid[0].xaxis.set_major_locator(MaxNLocator(nbins=self.x_ticks, steps=[1, 2, 5, 10]))

    def write_cut_values(self, axes: Axes, values: Mapping[str, float]) -> None:
        """Write the final values of the lines that are cut off in a panel.

        Each value is preceded by the name of its line, unless the name is longer than
        `MAX_CUT_CHARS`, and has the colour of the line.

        Parameters
        ----------
        axes : Axes
            Axes of the panel.
        values : Mapping[str, float]
            Map from the name of each line that is cut off to its final value.
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
                color=self.styles[name].colour,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},  # hides lines behind it
            )


def regret_figure(
    panels: Panels, *, title: str, command: str = "", order: Sequence[str] = ()
) -> PanelFigure:
    """Return a figure of cumulative regret over episodes.

    Parameters
    ----------
    panels : Panels
        Lines of each panel.
    title : str
        Title of the figure.
    command : str
        Command that reproduces the figure, printed below it.
    order : Sequence[str]
        Labels of all lines of a study. If given, a line has the same colour in every figure, even
        in figures that lack some of the other lines.

    Returns
    -------
    PanelFigure
        The figure.
    """
    styles = line_styles(line_names(panels, order), PALETTE)
    return PanelFigure(panels=panels, styles=styles, title=title, command=command)


def delay_figure(
    panels: Panels,
    *,
    title: str,
    command: str = "",
    order: Sequence[str] = (),
    published: Points | None = None,
    palette: Sequence[str] = LAW_PALETTE,
) -> PanelFigure:
    """Return a figure of final regret against the expected delay.

    Parameters
    ----------
    panels, title, command, order
        As in `regret_figure`.
    published : Points or None
        Published values, drawn as hollow markers; None to draw none.
    palette : Sequence[str]
        Colours: `LAW_PALETTE` if the lines are laws, `PALETTE` if they are learners.

    Returns
    -------
    PanelFigure
        The figure.
    """
    return PanelFigure(
        panels=panels,
        styles=line_styles(line_names(panels, order), palette),
        title=title,
        command=command,
        x="Expected delay E[τ]",
        y="Final regret",
        x_ticks=6,
        markers=True,
        published=published or {},
    )


def regret_curves(groups: Mapping[str, Sequence[Run]], *, title: str, command: str) -> PanelFigure:
    """Return a figure of the mean regret over episodes and the central 95 % of runs.

    Parameters
    ----------
    groups : Mapping[str, Sequence[Run]]
        Map from the label of a learner in the legend to its runs. ValueError is raised if it is
        empty.
    title : str
        Title of the figure.
    command : str
        Command that reproduces the figure, printed below it.

    Returns
    -------
    PanelFigure
        The figure, with a single panel.
    """
    if not groups:
        raise ValueError("groups must hold the runs of at least one learner, got none.")
    lines = {name: band(runs) for name, runs in groups.items()}
    return regret_figure({"": lines}, title=title, command=command)


def thin(line: Band) -> Band:
    """Return the first point of `line` and at most `MAX_SVG_POINTS` others, evenly spaced.

    The last point is always included.
    """
    step = -(-(line.x.size - 1) // MAX_SVG_POINTS) or 1
    kept = np.append(0, np.arange(line.x.size - 1, 0, -step)[::-1])
    return Band(line.x[kept], line.mean[kept], line.low[kept], line.high[kept])
