"""`plot`: draw runs, results, a world or a policy on Matplotlib axes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

import matplotlib
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from numpy.typing import NDArray

from belated.check import check_choice
from belated.episode import Policy
from belated.figures import studies
from belated.figures.names import base_name, readable, title_of
from belated.figures.panels import LEGEND_TITLE, X_LABELS, PanelFigure
from belated.figures.policies import draw_policy
from belated.figures.styles import (
    DASHES,
    PALETTE,
    RC_PARAMS,
    LineStyle,
    figure_of,
    line_styles,
    new_axes,
    two_way_styles,
)
from belated.figures.worlds import draw_world
from belated.mdp.model import MDP
from belated.simulation.run import Run
from belated.sweep.bands import Columns, band
from belated.sweep.results import PARTS, Results, varied

Runs = Run | Iterable[Run]

RUN_PARTS: Final = ("base", "updater", "delay", "world")
"""Attributes of a `Run` that contain the names of the parts of its setting."""

X = Literal["episode", "mean_delay", "states", "horizon"]

MAX_LINES: Final = len(PALETTE) * len(DASHES)
"""Maximum number of lines that can be distinguished by their colours and dashes."""


def plot(
    shown: Runs | Mapping[str, Runs] | Results | MDP | Policy,
    *,
    ax: Axes | None = None,
    title: str = "",
    **options: Any,
) -> Any:
    """Draw runs, results, a world or a policy, and return the axes.

    Lines are means over runs, and bands contain the central 95 % of the runs.

    Parameters
    ----------
    shown : Run, iterable of Run, mapping, Results, MDP or Policy
        Object to draw. Runs are grouped by base, updater, delay and world, and each group is a
        line. A mapping from labels to runs sets the groups and their labels instead.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    title : str
        Title; by default it is formed from the values that all lines share.
    **options
        Further arguments of `Results.plot`, `MDP.plot` or `Policy.plot`.

    Returns
    -------
    Axes or NDArray
        Axes of Matplotlib; an array of axes if `facet` is given.

    Examples
    --------
    >>> from belated import UCRL2, Active, chain, simulate_many
    >>> learner = {"base": UCRL2(scale=0.1), "updater": Active()}
    >>> runs = simulate_many(chain(3), **learner, episodes=50, seeds=range(3))
    >>> plot({"UCRL2": runs}).get_ylabel()
    'Cumulative regret'
    """
    with project_style():
        if isinstance(shown, Results):
            return plot_results(shown, ax, title, **options)
        if isinstance(shown, MDP | Policy):
            return plot_picture(shown, ax, title, **options)
        return plot_runs(shown, ax, title, **options)


@contextmanager
def project_style() -> Iterator[None]:
    """Return a context manager in which Matplotlib uses the settings of this package's figures.

    At the end, all settings are restored except the interactive mode. In a notebook, the first
    figure turns the interactive mode on, and later figures are shown only if it stays on.
    """
    with style.context(["default", RC_PARAMS]):
        yield
        interactive = matplotlib.is_interactive()
    matplotlib.interactive(interactive)


def plot_runs(shown: Runs | Mapping[str, Runs], ax: Axes | None, title: str) -> Axes:
    """Draw the regret of runs over episodes; see `plot`.

    Parameters
    ----------
    shown, ax, title
        As in `plot`.

    Returns
    -------
    Axes
        The axes.
    """
    if isinstance(shown, Mapping):
        groups = {str(label): listed(runs) for label, runs in shown.items()}
        styles = line_styles(groups)
    else:
        groups, styles = group_runs(listed(shown))
    every = [run for runs in groups.values() for run in runs]
    if not every:
        raise ValueError("runs must hold at least one run, got none.")
    figure = PanelFigure(
        panels={"": {label: band(runs) for label, runs in groups.items()}},
        styles=styles,
        title=title or shared_values(tabulate(every), RUN_PARTS[:-1]),
    )
    return figure.draw_on(ax, legend_title=LEGEND_TITLE if len(every) > len(groups) else "")


def listed(runs: Runs) -> list[Run]:
    """Return one or several `runs` as a list. Raise TypeError if an element is not a Run."""
    found = [runs] if isinstance(runs, Run) else list(runs)
    for run in found:
        if not isinstance(run, Run):
            raise TypeError(
                "plot needs runs, a mapping from labels to runs, results, a world or a policy, "
                f"got {run!r}."
            )
    return found


def tabulate(runs: Sequence[Run]) -> Columns:
    """Return the seeds and the `RUN_PARTS` of `runs` as columns, with a row for each run.

    The names of bases have no options unless these distinguish the runs.
    """
    table = {
        name: np.array([getattr(run, name) for run in runs], object)
        for name in ("seed", *RUN_PARTS)
    }
    short = np.array([base_name(base, options=False) for base in table["base"]], object)
    return {**table, "base": short} if len(set(short)) == len(set(table["base"])) else table


def shared_values(table: Columns, columns: Iterable[str]) -> str:
    """Return a title with the readable values of those of `columns` that have only one value."""
    shared = [name for name in columns if len(set(table[name])) == 1]
    return title_of([readable(name, table[name][0]) for name in shared])


def styles_of(table: Columns, columns: Sequence[str], lines: Iterable[str]) -> dict[str, LineStyle]:
    """Return a map from each label in `lines` to the style of the line.

    `lines` has a label for each row of `table`. The first of `columns` determines the colour of a
    line, and the others determine its dashes.
    """
    dashes = studies.labels(table, columns[1:])
    return two_way_styles(zip(lines, table[columns[0]], dashes, strict=True))


def group_runs(runs: Sequence[Run]) -> tuple[dict[str, list[Run]], dict[str, LineStyle]]:
    """Group `runs` by base, updater, delay and world.

    Return two dictionaries, whose keys are the labels of the groups: the runs of each group, and
    the style of its line. A label contains the names of the parts that differ between `runs`, or
    the base, updater and delay if none differs. Raise ValueError if two runs of a group have the
    same seed.
    """
    table = tabulate(runs)
    columns = varied(table, RUN_PARTS) or RUN_PARTS[:-1]
    groups: dict[str, list[Run]] = {}
    lines = studies.labels(table, columns).tolist()
    for label, run in zip(lines, runs, strict=True):
        groups.setdefault(label, []).append(run)
    for label, found in groups.items():
        if len({run.seed for run in found}) < len(found):
            raise ValueError(
                f"runs {label!r} have the same seed twice, so their settings differ in something "
                "that runs do not record. Give a mapping from labels to runs."
            )
    return groups, styles_of(table, columns, lines)


def plot_picture(shown: MDP | Policy, ax: Axes | None, title: str, **options: Any) -> Axes:
    """Draw a world or a policy, and return the axes.

    Parameters
    ----------
    shown, ax, title
        As in `plot`.
    **options
        Further arguments of `MDP.plot` or `Policy.plot`.

    Returns
    -------
    Axes
        The axes.
    """
    axes = ax or new_axes()
    if isinstance(shown, MDP):
        size_in = draw_world(axes, shown, **options)
    else:
        size_in = draw_policy(axes, shown, **options)
    axes.set_title(title, loc="left")
    if ax is None:
        figure_of(axes).set_size_inches(size_in)
    return axes


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
    panels = studies.panels_of(runs, results.curves, x, by_facet, lines)
    figure = PanelFigure(
        panels=panels,
        styles=styles_of(runs, columns, lines),
        title=title or shared_values(runs, PARTS[:4]),
        x=x,
        share_y="world" not in facets,
    )
    if not facets:
        return figure.draw_on(ax)
    from matplotlib import pyplot

    return np.array(figure.draw(make=pyplot.figure).axes, object)


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
    differing = [name for name in varied(runs, parts) if name not in facets]
    first = color or (differing[0] if differing else "base")
    return [first, *(name for name in differing if name != first)]


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
