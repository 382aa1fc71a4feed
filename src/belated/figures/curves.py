"""Figure of regret over episodes, with a line and a band for each learner."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from belated.figures.names import wrap
from belated.figures.styles import (
    RC_PARAMS,
    LineStyle,
    add_command,
    figure_of,
    line_styles,
    save_figure,
)
from belated.simulation.run import Run
from belated.sweep.bands import Band, band

COMMAND_LINE_CHARS: Final = 90
AXES_SIZE_IN: Final = (4.4, 3.6)
"""Width of a figure without legend, and its height, in inches."""

MIN_WIDTH_IN: Final = 5.5
LEGEND_HANDLE_IN: Final = 0.8
LEGEND_CHAR_IN: Final = 0.068
"""Approximate width of a legend, in inches: of a line and margins, and of each character."""

TITLE_LINE_CHARS: Final = 56
"""Maximum number of characters in a line of a title."""

LEGEND_LOCATION: Final = "outside right upper"
"""Place of the legend beside the axes, where it covers no line."""

MAX_LEGEND_SHARE: Final = 0.7
"""Maximum share of the height of the axes that is added for a legend above the lines."""

LEGEND_MARGIN: Final = 0.06
"""Distance between lines and legend, as a share of the height of the axes."""

LEGEND_TITLE: Final = "Mean and central 95%\nof runs"


def regret_curves(
    groups: Mapping[str, Sequence[Run]], path: str | Path, *, title: str, command: str
) -> list[Path]:
    """Draw the mean regret over episodes and the central 95 % of runs, for each learner.

    The figure is written as PDF and PNG.

    Parameters
    ----------
    groups : Mapping[str, Sequence[Run]]
        Runs by label of the learner in the legend. At least one learner is required; otherwise
        ValueError is raised.
    path : str or Path
        Path of the files, without suffix.
    title : str
        Title of the figure.
    command : str
        Command that reproduces the figure, printed below it.

    Returns
    -------
    list[Path]
        The files written, a PDF and a PNG.
    """
    if not groups:
        raise ValueError("groups must hold the runs of at least one learner, got none.")
    with style.context(["default", RC_PARAMS]):
        figure = build_figure(groups, title=title, command=command)
        return save_figure(figure, Path(path))


def build_figure(groups: Mapping[str, Sequence[Run]], *, title: str, command: str) -> Figure:
    """Return the figure of `regret_curves` without saving it; the parameters are the same."""
    figure = Figure(figsize=figure_size(groups), layout="constrained")
    axes = figure.add_subplot()
    lines = {name: band(runs) for name, runs in groups.items()}
    draw_lines(axes, lines, line_styles(groups))
    axes.set_title(title, loc="left")
    figure.legend(loc=LEGEND_LOCATION, title=LEGEND_TITLE, alignment="left")
    add_command(figure, command, width=COMMAND_LINE_CHARS)
    return figure


def draw_lines(
    axes: Axes,
    lines: Mapping[str, Band],
    styles: Mapping[str, LineStyle],
    *,
    x: str = "Episode",
    y: str = "Cumulative regret",
    markers: bool = False,
) -> None:
    """Draw lines with bands on axes that start at zero, and label the axes.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    lines : Mapping[str, Band]
        Bands by label of line.
    styles : Mapping[str, LineStyle]
        Style by label of line.
    x, y : str
        Axis labels.
    markers : bool
        Whether to draw a marker at each point, with room for those at the ends.
    """
    for name, line in lines.items():
        draw_band(axes, line, styles[name], label=name, markers=markers)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    start_at_zero(axes)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    if markers:
        leave_room_for_markers(axes, lines.values())


def new_axes(labels: Collection[str] = ()) -> Axes:
    """Return the axes of a new figure of pyplot, which notebooks show.

    `labels` are the labels of the legend, for which the figure has room.
    """
    from matplotlib import pyplot

    return pyplot.figure(figsize=figure_size(labels), layout="constrained").add_subplot()


def figure_size(labels: Collection[str]) -> tuple[float, float]:
    """Return the width and height in inches of a figure with `labels` in a legend beside it.

    There is no legend if there are fewer than two labels.
    """
    width, height = AXES_SIZE_IN
    if len(labels) > 1:
        width += LEGEND_HANDLE_IN + LEGEND_CHAR_IN * max(map(len, labels))
    return max(width, MIN_WIDTH_IN), height


def plot_lines(
    lines: Mapping[str, Band],
    styles: Mapping[str, LineStyle],
    ax: Axes | None,
    *,
    title: str = "",
    legend_title: str = "",
    **labels: Any,
) -> Axes:
    """Draw lines with bands on given axes or in a new figure, with a legend that covers no line.

    The legend is omitted if there is only one line.

    Parameters
    ----------
    lines, styles
        As in `draw_lines`.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    title : str
        Title, which is wrapped.
    legend_title : str
        Title of the legend.
    **labels
        Arguments `x`, `y` and `markers` of `draw_lines`.

    Returns
    -------
    Axes
        The axes.
    """
    axes = ax or new_axes(lines)
    axes.set_title(wrap(title, TITLE_LINE_CHARS), loc="left")
    draw_lines(axes, {name: lines[name] for name in styles if name in lines}, styles, **labels)
    if len(lines) > 1 and ax is None:
        figure_of(axes).legend(loc=LEGEND_LOCATION, title=legend_title, alignment="left")
    elif len(lines) > 1:
        add_legend_above(axes, title=legend_title.replace("\n", " "))
    return axes


def add_legend_above(axes: Axes, *, title: str) -> None:
    """Add a legend with this `title` to `axes`, and extend the y axis so that it covers no line."""
    legend = axes.legend(loc="upper left", title=title, alignment="left")
    figure_of(axes).draw_without_rendering()
    share = legend.get_window_extent().height / axes.get_window_extent().height
    shared = axes.get_shared_y_axes().get_siblings(axes)
    top = max(each.dataLim.y1 for each in shared)  # their limits may have been set before
    axes.set_ylim(top=top / (1 - min(share + LEGEND_MARGIN, MAX_LEGEND_SHARE)))


def leave_room_for_markers(axes: Axes, lines: Iterable[Band]) -> None:
    """Extend the x axis of `axes` beyond the first and last points of `lines`."""
    last = max(float(line.x.max()) for line in lines)
    margin = 0.04 * (last or 1.0)
    axes.set_xlim(-margin, last + margin)


def draw_band(
    axes: Axes, line: Band, line_style: LineStyle, *, label: str, markers: bool = False
) -> None:
    """Draw the mean of a band as a line, and the band as a shaded area with thin edges.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    line : Band
        Band to draw.
    line_style : LineStyle
        Colour, dashes and marker.
    label : str
        Label in the legend.
    markers : bool
        Whether to draw a marker at each point.
    """
    colour, dashes = line_style.colour, line_style.linestyle
    axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.12, linewidth=0)
    for edge in (line.low, line.high):
        axes.plot(line.x, edge, color=colour, linestyle=dashes, linewidth=0.5)
    marker = line_style.marker if markers else ""
    axes.plot(
        *(line.x, line.mean),
        color=colour,
        linestyle=dashes,
        marker=marker,
        markersize=4,
        label=label,
    )


def start_at_zero(axes: Axes) -> None:
    """Start the x and y axes at zero, and format tick labels with a comma for thousands."""
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
