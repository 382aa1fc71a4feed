"""Lines with bands on Matplotlib axes."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from belated.figures.names import wrap
from belated.figures.styles import LineStyle, figure_of
from belated.sweep.bands import Band

AXES_SIZE_IN: Final = (4.4, 3.6)
"""Width and height of a figure in inches, without the additional width of a legend."""

MIN_WIDTH_IN: Final = 5.5
LEGEND_HANDLE_IN: Final = 0.8
LEGEND_CHAR_IN: Final = 0.068
"""Approximate width of a character in a legend, in inches.

`LEGEND_HANDLE_IN` is the width of the line and the margins of the legend.
"""

TITLE_LINE_CHARS: Final = 56
"""Maximum number of characters in a line of a title."""

LEGEND_LOCATION: Final = "outside right upper"
"""Matplotlib location of a legend: to the right of the axes, where it covers no line."""

MAX_LEGEND_SHARE: Final = 0.7
"""Maximum fraction of the height of the axes that is reserved for a legend above the lines."""

LEGEND_MARGIN: Final = 0.06
"""Distance between the lines and the legend above them, as a fraction of the height of the axes."""

LEGEND_TITLE: Final = "Mean and central 95%\nof runs"


def new_axes(labels: Collection[str] = ()) -> Axes:
    """Return the axes of a new figure, which is created with pyplot so that notebooks show it.

    `labels` are the labels of the legend. The figure is wide enough for a legend beside the axes.
    """
    from matplotlib import pyplot

    return pyplot.figure(figsize=figure_size(labels), layout="constrained").add_subplot()


def figure_size(labels: Collection[str]) -> tuple[float, float]:
    """Return the width and height, in inches, of a figure with a legend beside the axes.

    `labels` are the labels of the legend. If there are fewer than two, the figure has no legend.
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
    x: str = "Episode",
    y: str = "Cumulative regret",
    markers: bool = False,
) -> Axes:
    """Draw lines with bands on given axes or in a new figure, with a legend that covers no line.

    The legend is omitted if there is only one line.

    Parameters
    ----------
    lines : Mapping[str, Band]
        Map from the label of a line to its band.
    styles : Mapping[str, LineStyle]
        Map from the label of a line to its style, in the order of the legend.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    title : str
        Title of the axes. Long titles are wrapped.
    legend_title : str
        Title of the legend.
    x, y : str
        Axis labels. Both axes start at zero.
    markers : bool
        Whether to draw a marker at each point, and to extend the x axis so that no marker is cut.

    Returns
    -------
    Axes
        The axes.
    """
    axes = ax or new_axes(lines)
    axes.set_title(wrap(title, TITLE_LINE_CHARS), loc="left")
    for name in styles:
        if name in lines:
            draw_band(axes, lines[name], styles[name], label=name, markers=markers)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    start_at_zero(axes)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    if markers:
        leave_room_for_markers(axes, lines.values())
    if len(lines) > 1 and ax is None:
        figure_of(axes).legend(loc=LEGEND_LOCATION, title=legend_title, alignment="left")
    elif len(lines) > 1:
        add_legend_above(axes, title=legend_title.replace("\n", " "))
    return axes


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


def leave_room_for_markers(axes: Axes, lines: Iterable[Band]) -> None:
    """Extend the x axis of `axes` at both ends, so that no marker of `lines` is cut off."""
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
