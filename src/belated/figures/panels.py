"""Lines with bands: panels side by side with one legend, or the axes of a user.

A `PanelFigure` describes a figure once; it is drawn in files, notebooks and reports.
"""

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from belated.figures.names import wrap
from belated.figures.styles import (
    FOOTER,
    LEGEND_CHAR_IN,
    LEGEND_HANDLE_IN,
    PALETTE,
    RC_PARAMS,
    LineStyle,
    figure_of,
    line_styles,
    new_axes,
    save_figure,
)
from belated.simulation.run import Run
from belated.sweep.bands import Band, Panels, Points, axis_limit, band, line_names

X_LABELS: Final[Mapping[str, str]] = {
    "episode": "Episode",
    "mean_delay": "Expected delay E[τ]",
    "states": "Number of states S",
    "horizon": "Horizon H",
}
"""Map from each column that can be on the x axis to the label of the axis."""

BAND_NOTE: Final = "Lines are means over runs, bands the central 95% of them."
CUT_NOTE: Final = "Lines that leave a panel end at the value beside the arrow."
PUBLISHED_NOTE: Final = "Hollow markers are the published values."
LEGEND_TITLE: Final = "Mean and central 95%\nof runs"

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

AXES_TITLE_CHARS: Final = 56
"""Maximum number of characters in a line of the title of single axes."""

TITLE_CHAR_IN: Final = 0.08
"""Width of a character of the title of a figure, in inches."""

TITLE_LINE_IN: Final = 0.15
"""Height of a line of the title of a panel, in inches."""

LEGEND_ENTRY_SIZE_IN: Final = (1.75, 0.22)
FOOTER_CHAR_SIZE_IN: Final = (0.053, 0.115)
"""Width and height in inches of a character at the foot of a figure.

`PANEL_SIZE_IN` and `LEGEND_ENTRY_SIZE_IN` are widths and heights in inches too.
"""

MAX_LEGEND_SHARE: Final = 0.7
"""Maximum fraction of the height of the axes that is reserved for a legend above the lines."""

LEGEND_MARGIN: Final = 0.06
"""Distance between the lines and the legend above them, as a fraction of the height of the axes."""

MAX_SVG_POINTS: Final = 80
"""Maximum number of points of a line in an SVG, the first point apart."""

SVG_POINT: Final = re.compile(r"(?m)^(L -?\d+\.\d\d)\d* (-?\d+\.\d\d)\d* $")
"""Point of a line in an SVG; its groups have two decimals, hundredths of a typographic point."""


@dataclass(frozen=True, kw_only=True)
class PanelFigure:
    """Figure of regret, with panels of lines and bands.

    Lines of regret over episodes that are far above the others are cut off, and a note in the panel
    gives their final values. Lines against another column have a marker at each point instead.
    """

    panels: Panels
    styles: Mapping[str, LineStyle]  # style of each line, in the order of the legend
    title: str
    command: str = ""  # reproduces the figure
    x: str = "episode"  # column on the x axis, a key of `X_LABELS`
    published: Points = field(default_factory=dict)  # drawn as hollow markers
    share_y: bool = True  # all panels have the same y axis

    @property
    def markers(self) -> bool:
        """Whether each point has a marker, and no line is cut off."""
        return self.x != "episode"

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
        figure = make()
        columns = min(MAX_PANEL_COLUMNS, len(self.panels))
        rows = -(-len(self.panels) // columns)
        shared: dict[str, Any] = {"sharex": True, "sharey": self.share_y, "squeeze": False}
        grid = figure.subplots(rows, columns, **shared).ravel()
        for axes in grid[len(self.panels) :]:
            axes.remove()
        limits = dict.fromkeys(self.panels) if full else self.limits()
        cut = {} if full else self.cut_values()
        for axes, panel in zip(grid, self.panels, strict=False):
            axes.set_title(wrap(panel, PANEL_TITLE_CHARS), loc="left", fontsize=9)
            self.draw_lines(axes, panel)
            self.write_cut_values(axes, cut.get(panel, {}))
        self.format_axes(figure.axes, intervals=6 if self.markers else 3)
        for index, (axes, limit) in enumerate(zip(figure.axes, limits.values(), strict=True)):
            axes.tick_params(labelsize=8)
            axes.set_ylim(top=limit)
            if index + columns < len(self.panels):
                axes.set_xlabel("")
            else:
                axes.tick_params(labelbottom=True)
            if index % columns:
                axes.set_ylabel("")
        self.add_margins(figure, columns, rows, caption=caption)
        return figure

    def draw_on(self, ax: Axes | None, *, legend_title: str = LEGEND_TITLE) -> Axes:
        """Draw the only panel, with a legend that covers no line, and return the axes.

        `ax` are the axes to draw on; None for those of a new figure. The legend is omitted if there
        is only one line, and no line is cut off.
        """
        [(panel, lines)] = self.panels.items()
        axes = ax or new_axes(lines)
        axes.set_title(wrap(self.title, AXES_TITLE_CHARS), loc="left")
        self.draw_lines(axes, panel)
        self.format_axes([axes], intervals=6)
        if len(lines) > 1 and ax is None:
            legend: dict[str, Any] = {"loc": "outside right upper", "alignment": "left"}
            figure_of(axes).legend(title=legend_title, **legend)
        elif len(lines) > 1:
            add_legend_above(axes, title=legend_title.replace("\n", " "))
        return axes

    def draw_lines(self, axes: Axes, panel: str) -> None:
        """Draw the lines and the published values of `panel` on `axes`."""
        for name, line_style in self.styles.items():
            if name in self.panels[panel]:
                line, colour = self.panels[panel][name], line_style.colour
                look: dict[str, Any] = {"color": colour, "linestyle": line_style.linestyle}
                axes.fill_between(
                    line.x, line.low, line.high, color=colour, alpha=0.12, linewidth=0
                )
                for edge in (line.low, line.high):
                    axes.plot(line.x, edge, linewidth=0.5, **look)
                marker = line_style.marker if self.markers else ""
                axes.plot(line.x, line.mean, marker=marker, markersize=4, label=name, **look)
            points = self.published.get(panel, {}).get(name, {})
            if points:
                axes.plot([*points], [*points.values()], **hollow_marker(line_style))

    def format_axes(self, grid: Sequence[Axes], *, intervals: int) -> None:
        """Label the axes in `grid`, and set their limits and ticks, after all lines are drawn.

        `intervals` is the maximum number of intervals between ticks of the x axis.
        """
        for axes in grid:
            axes.set(xlabel=X_LABELS[self.x], xlim=(0, None), ylim=(0, None))
            axes.set_ylabel("Final regret" if self.markers else "Cumulative regret")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        grid[0].xaxis.set_major_locator(MaxNLocator(nbins=intervals, steps=[1, 2, 5, 10]))
        if self.markers:  # leave room for those at both ends
            every = (line for lines in self.panels.values() for line in lines.values())
            last = max(float(line.x.max()) for line in every)
            grid[0].set_xlim(-0.04 * (last or 1.0), 1.04 * last or 0.04)

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

    def add_margins(self, figure: Figure, columns: int, rows: int, *, caption: bool) -> None:
        """Add the legend and, if `caption`, title, notes and command, and set the figure's size.

        `columns` and `rows` are the numbers of panels side by side and above each other. Call this
        method after all lines are drawn.
        """
        # Sizes in inches. The heights of text and legend are added, so that panels do not shrink.
        width = 0.5 + max(2, columns) * PANEL_SIZE_IN[0]
        line_chars = int(width / FOOTER_CHAR_SIZE_IN[0])
        paragraphs = [self.notes(), self.command] if caption else []
        text = [line for note in paragraphs for line in textwrap.wrap(note, line_chars)]
        drawn = {
            str(line.get_label()): line
            for axes in figure.axes
            for line in axes.get_legend_handles_labels()[0]
        }
        handles = [drawn[name] for name in self.styles if name in drawn]
        if self.published:
            grey = hollow_marker(LineStyle("0.3", (), "o"))
            handles.append(Line2D([], [], label="Published", **grey))
        longest = max(len(str(handle.get_label())) for handle in handles)
        entry_width = max(LEGEND_ENTRY_SIZE_IN[0], LEGEND_HANDLE_IN + LEGEND_CHAR_IN * longest)
        legend_rows = -(-len(handles) // max(1, int(width / entry_width)))
        title_lines = max(axes.get_title(loc="left").count("\n") for axes in figure.axes)
        text_height = 0.06 + FOOTER_CHAR_SIZE_IN[1] * len(text)
        foot = text_height + LEGEND_ENTRY_SIZE_IN[1] * legend_rows
        panel_height = SINGLE_PANEL_HEIGHT_IN if len(self.panels) == 1 else PANEL_SIZE_IN[1]
        height = foot + 0.3 + (panel_height + TITLE_LINE_IN * title_lines) * rows + 0.3
        figure.set_size_inches(width, height)
        above_foot = (0, foot / height, 1, 1 - foot / height)
        figure.set_layout_engine("constrained", rect=above_foot, wspace=0.03)
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
                *(0.98, 0.98 - 0.09 * index),
                f"{name if len(name) <= MAX_CUT_CHARS else ''} ↑ {value:,.0f}".strip(),
                transform=axes.transAxes,
                ha="right",
                va="top",
                fontsize=7,
                color=self.styles[name].colour,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},  # hides lines behind it
            )


def panel_figure(
    panels: Panels, *, order: Sequence[str] = (), palette: Sequence[str] = PALETTE, **options: Any
) -> PanelFigure:
    """Return a figure whose lines have the colours of a palette, in order.

    Parameters
    ----------
    panels : Panels
        Lines of each panel. ValueError is raised if there are none.
    order : Sequence[str]
        Labels of all lines of a study. If given, a line has the same colour in every figure, even
        in figures that lack some of the other lines.
    palette : Sequence[str]
        Colours: `PALETTE` if the lines are learners, `LAW_PALETTE` if they are delay laws.
    **options
        Further attributes of `PanelFigure`, such as its title.

    Returns
    -------
    PanelFigure
        The figure.
    """
    styles = line_styles(line_names(panels, order), palette)
    return PanelFigure(panels=panels, styles=styles, **options)


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
    return panel_figure({"": lines}, title=title, command=command)


def thin(line: Band) -> Band:
    """Return the first point of `line` and at most `MAX_SVG_POINTS` others, evenly spaced.

    The last point is always included.
    """
    step = -(-(line.x.size - 1) // MAX_SVG_POINTS) or 1
    kept = np.append(0, np.arange(line.x.size - 1, 0, -step)[::-1])
    return Band(line.x[kept], line.mean[kept], line.low[kept], line.high[kept])


def hollow_marker(line_style: LineStyle) -> dict[str, Any]:
    """Return the Matplotlib properties of the hollow markers that show published values.

    The markers have the colour and shape of `line_style`.
    """
    return {
        "linestyle": "none",
        "marker": line_style.marker,
        "markersize": 7,
        "markerfacecolor": "none",
        "markeredgecolor": line_style.colour,
        "markeredgewidth": 0.8,
    }


def add_legend_above(axes: Axes, *, title: str) -> None:
    """Add a legend to `axes`, and extend the y axis so that the legend covers no line.

    `title` is the title of the legend.
    """
    legend = axes.legend(loc="upper left", title=title, alignment="left")
    figure_of(axes).draw_without_rendering()
    share = legend.get_window_extent().height / axes.get_window_extent().height
    shared = axes.get_shared_y_axes().get_siblings(axes)
    top = max(each.dataLim.y1 for each in shared)  # their limits may have been set before
    axes.set_ylim(top=top / (1 - min(share + LEGEND_MARGIN, MAX_LEGEND_SHARE)))
