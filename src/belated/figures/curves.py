"""Figure of regret over episodes, with a line and a band for each learner."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from belated.figures.bands import Band, band
from belated.figures.styles import RC_PARAMS, LineStyle, add_command, line_styles, save_figure
from belated.simulation.run import Run

COMMAND_LINE_CHARS: Final = 90


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
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for name, line_style in line_styles(groups).items():
        draw_band(axes, band(groups[name]), line_style, label=name)
    axes.set_title(title, loc="left")
    axes.set_xlabel("Episode")
    axes.set_ylabel("Cumulative regret")
    start_at_zero(axes)
    # Regret rises and flattens, so the lower right corner is empty.
    axes.legend(loc="lower right", title="Mean and central 95% of runs", alignment="left")
    add_command(figure, command, width=COMMAND_LINE_CHARS)
    return figure


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
