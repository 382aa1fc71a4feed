"""Plots of stored results: regret over episodes, or final regret against a column of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from belated.check import check_choice
from belated.figures import studies
from belated.figures.curves import LEGEND_TITLE, plot_lines
from belated.figures.names import readable, title_of
from belated.figures.panels import PanelFigure
from belated.figures.styles import DASHES, PALETTE, two_way_styles
from belated.sweep.bands import Columns
from belated.sweep.results import PARTS, Results

X = Literal["episode", "mean_delay", "states", "horizon"]

X_LABELS: Final[Mapping[str, str]] = {
    "episode": "Episode",
    "mean_delay": "Expected delay E[τ]",
    "states": "Number of states S",
    "horizon": "Horizon H",
}
"""Map from each column that can be on the x axis to the label of the axis."""

MAX_LINES: Final = len(PALETTE) * len(DASHES)
"""Maximum number of lines that can be distinguished by their colours and dashes."""


def plot_results(
    results: Results,
    ax: Axes | None,
    title: str,
    *,
    x: X = "episode",
    color: str | None = None,
    facet: str | Sequence[str] | None = None,
    **where: Any,
) -> Any:
    """Draw the regret of stored results, and return the axes.

    Parameters
    ----------
    results : Results
        Results to draw.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    title : str
        Title; if empty, it is formed from the values that all lines share.
    x, color, facet, **where
        As in `Results.plot`.

    Returns
    -------
    Axes or NDArray
        Axes, or an array of axes if `facet` is given.
    """
    facets = [facet] if isinstance(facet, str) else list(facet or ())
    if ax is not None and facets:
        raise ValueError("ax cannot be combined with facet, which needs a figure of its own.")
    chosen = studies.select(results.runs(), where)
    runs = studies.reading_order(studies.rename_bases(chosen, results.base_names()))
    if x == "mean_delay":
        runs = studies.repeat_undelayed(studies.split_laws(runs))
    columns = line_columns(runs, x, color, facets)
    lines = studies.labels(runs, columns)
    check_number_of_lines(runs, columns, lines)
    by_facet = studies.labels(runs, facets)
    if x == "episode":
        panels = studies.episode_panels(runs, results.curves, by_facet, lines)
    else:
        panels = studies.final_panels(runs, x, by_facet, lines)
    title = title or common_title(runs)
    styles = two_way_styles(
        zip(lines, runs[columns[0]], studies.labels(runs, columns[1:]), strict=True)
    )
    y = "Cumulative regret" if x == "episode" else "Final regret"
    if facets:
        from matplotlib import pyplot

        figure = PanelFigure(
            panels=panels,
            styles=styles,
            title=title,
            x=X_LABELS[x],
            y=y,
            x_ticks=3 if x == "episode" else 6,
            markers=x != "episode",
            share_y="world" not in facets,
        )
        return np.array(figure.draw(make=pyplot.figure).axes, object)
    return plot_lines(
        panels[""],
        styles,
        ax,
        title=title,
        x=X_LABELS[x],
        y=y,
        markers=x != "episode",
        legend_title=LEGEND_TITLE,
    )


def line_columns(runs: Columns, x: str, color: str | None, facets: Sequence[str]) -> list[str]:
    """Return the columns whose values distinguish the lines of a panel.

    The first column determines the colour of a line, and the others determine its dashes.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    x : str
        Column on the x axis.
    color : str or None
        Column that determines the colours; None for the first column that varies.
    facets : Sequence[str]
        Columns whose values distinguish panels.

    Returns
    -------
    list[str]
        Names of the columns.

    Raises
    ------
    ValueError
        If `x` is not in `X_LABELS`, or if `color` or one of `facets` is not one of the columns that
        distinguish settings. For `x` = "mean_delay", these include "law" in place of "delay"; for
        "states" and "horizon", they do not include "world".
    """
    check_choice("x", x, tuple(X_LABELS))
    # Columns that determine x do not distinguish lines.
    parts = [name for name in PARTS if x in ("episode", "mean_delay") or name != "world"]
    if x == "mean_delay":
        parts[parts.index("delay")] = "law"
    given = [("color", color)] if color else []
    for name, column in [*given, *(("facet", column) for column in facets)]:
        check_choice(name, column, tuple(parts))
    varied = [name for name in studies.varied(runs, parts) if name not in facets]
    first = color or (varied[0] if varied else "base")
    return [first, *(name for name in varied if name != first)]


def check_number_of_lines(runs: Columns, columns: Sequence[str], lines: NDArray[Any]) -> None:
    """Raise ValueError if there are more than `MAX_LINES` lines.

    The message suggests how to draw fewer lines.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    columns : Sequence[str]
        Columns whose values distinguish lines; the message lists them.
    lines : NDArray
        Label of the line of each run.
    """
    count = len(set(lines))
    if count > MAX_LINES:
        last = columns[-1]
        raise ValueError(
            f"At most {MAX_LINES} lines can be told apart, got {count}, which differ in "
            f"{', '.join(columns)}. Give one of them as facet, or choose values, such as "
            f"{last}={str(runs[last][0])!r}."
        )


def common_title(runs: Columns) -> str:
    """Return a title with the readable values of the parts of the setting that all `runs` share.

    These are the world, base, delay and updater, if each has the same value in all runs.
    """
    names = [name for name in PARTS[:4] if len(set(runs[name])) == 1]
    return title_of([readable(name, runs[name][0]) for name in names])
