"""Results of a study as panels of lines, and the figures of a study."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.check import did_you_mean, similar
from belated.episode import Bools
from belated.figures.names import readable, title_of
from belated.figures.panels import PanelFigure, panel_figure
from belated.sweep.bands import Band, Columns, Curves, Panels, curve_band, final_band
from belated.sweep.results import PARTS, varied

OPTION_COLUMNS: Final = PARTS[4:]
"""Names of the columns of the results that contain the options of a simulation."""

MAX_DELAYS_PER_FIGURE: Final = 4
"""Maximum number of delays in one figure of regret over episodes. If a study has more, each delay
law has a figure of its own."""

MIN_DELAYS_PER_LINE: Final = 3
"""Minimum number of points on the longest line of a figure of final regret against the expected
delay. A point is one expected delay. If all lines have fewer points, the figure is not drawn."""


def study_figures(
    runs: Columns, curves: Curves, *, command: str
) -> Iterator[tuple[str, PanelFigure]]:
    """Yield the name and the description of each figure of a study.

    Each world has its own figures. They compare the updaters for each base and, if there are
    several bases, the bases for each updater. The name of a file describes its figure, such as
    "regret_chain-10_lazy-10_by-base".

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    curves : Curves
        Function that returns the regret curves of a setting.
    command : str
        Command that reproduces the figures, printed below each figure.

    Yields
    ------
    tuple[str, PanelFigure]
        Name of the files of the figure, without suffix, and the figure.
    """
    runs = reading_order(runs)
    for world in dict.fromkeys(runs["world"]):
        in_world = select(runs, {"world": world})
        for fixed, columns in comparisons(in_world):
            order = list(dict.fromkeys(labels(in_world, columns)))
            compared = f"by-{'-and-'.join(columns)}".replace("_", "-")
            for value in dict.fromkeys(in_world[fixed]):
                name = f"{world}_{value}".replace(":", "-")
                chosen = select(in_world, {fixed: value})
                style: dict[str, Any] = {
                    "title": title_of([readable("world", world), readable(fixed, value)]),
                    "command": command,
                    "order": order,
                }
                for law, part in split_delays(chosen):
                    part_name = law.replace(":", "-")
                    by_delay, lines = labels(part, ["delay"]), labels(part, columns)
                    panels = panels_of(part, curves, "episode", by_delay, lines)
                    yield (
                        "_".join(filter(None, ("regret", name, part_name, compared))),
                        panel_figure(panels, **style),
                    )
                panels = panels_by_law(chosen, curves, columns)
                if panels:
                    yield (
                        f"final-regret_{name}_{compared}",
                        panel_figure(panels, x="mean_delay", **style),
                    )


def comparisons(runs: Columns) -> Iterator[tuple[str, list[str]]]:
    """Yield the column that is fixed in a figure and the columns that distinguish its lines.

    `runs` are the results in one world. If there are several bases, they are compared for each
    updater: ("updater", ["base"]). If there are several updaters or only one base, the updaters are
    compared for each base: ("base", ["updater"]). Columns of options that vary are added to the
    columns that distinguish lines.
    """
    options = varied(runs, OPTION_COLUMNS)
    bases, updaters = varied(runs, ["base"]), varied(runs, ["updater"])
    if bases:
        yield "updater", [*bases, *options]
    if updaters or not bases:
        yield "base", [*updaters, *options] or ["updater"]


def panels_by_law(runs: Columns, curves: Curves, columns: Sequence[str]) -> Panels:
    """Return the bands of final regret against the expected delay, with a panel for each law.

    The lines are distinguished by the values of `columns` in `runs`. The result is empty if no line
    has at least `MIN_DELAYS_PER_LINE` points. Runs without delay are part of the lines of every
    law, as the point at expected delay 0. The title of a panel mentions this point if the name of
    its law contains a colon, as the name of an imported law does.
    """
    by_law = repeat_undelayed(split_laws(runs))
    titles = labels(by_law, ["law"])
    for law in dict.fromkeys(by_law["law"]):
        rows = by_law["law"] == law
        if ":" in law and by_law["mean_delay"][rows].min() == 0:
            titles[rows] = [f"{title}; no delay at 0" for title in titles[rows]]
    panels = panels_of(by_law, curves, "mean_delay", titles, labels(by_law, columns))
    points = [line.x.size for lines in panels.values() for line in lines.values()]
    return panels if max(points, default=0) >= MIN_DELAYS_PER_LINE else {}


def labels(runs: Columns, columns: Sequence[str]) -> NDArray[Any]:
    """Return a label for each run in `runs`, formed from its readable values in `columns`."""
    texts = [
        title_of([readable(name, value) for name, value in zip(columns, values, strict=True)])
        for values in zip(*(runs[name] for name in columns), strict=True)
    ]
    return np.array(texts or [""] * len(runs["seed"]), object)


def select(runs: Columns, where: Mapping[str, Any]) -> Columns:
    """Return the rows of `runs` that satisfy all conditions in `where`.

    `where` maps the name of a column to its required value, or to a list of allowed values. Raise
    ValueError if a column does not exist, or if no run satisfies the conditions.
    """
    mask: Bools = np.ones(len(runs["seed"]), np.bool_)
    for column, value in where.items():
        if column not in runs:
            near = did_you_mean(similar(column, runs))
            raise ValueError(f"There is no column {column!r} among {', '.join(runs)}.{near}")
        allowed: list[Any] = (
            [value] if isinstance(value, str) or np.isscalar(value) else list(value)
        )
        found = np.isin(runs[column].astype(type(allowed[0])), allowed)
        if not found.any():
            present = [str(known) for known in dict.fromkeys(runs[column])]
            near = did_you_mean(similar(str(allowed[0]), present))
            raise ValueError(f"{column} must be among {', '.join(present)}, got {value!r}.{near}")
        mask &= found
    if not mask.any():
        raise ValueError(f"No run has all of {dict(where)}.")
    return take(runs, np.flatnonzero(mask))


def rename_bases(runs: Columns, names: Mapping[str, str]) -> Columns:
    """Return `runs` with other names of bases in the column `base`.

    `names` maps the old name of a base to its new name. Bases that it does not contain keep their
    names.
    """
    bases = [names.get(str(base), base) for base in runs["base"]]
    return {**runs, "base": np.array(bases, object)}


def take(runs: Columns, rows: NDArray[Any]) -> Columns:
    """Return the rows of `runs` with the indices `rows`."""
    return {name: column[rows] for name, column in runs.items()}


def reading_order(runs: Columns) -> Columns:
    """Return `runs` sorted by world, base, updater, delay and seed.

    Numbers inside names are sorted numerically. Runs without delay precede runs with delay.
    """

    def key(row: int) -> tuple[Any, ...]:
        names = (natural_key(str(runs[name][row])) for name in ("world", "base", "updater"))
        mean = float(runs["mean_delay"][row])
        if math.isnan(mean):
            law = (runs["law"][row], math.inf, natural_key(str(runs["delay"][row])))
        else:
            law = (runs["law"][row], mean, ())
        return (*names, mean != 0, *law, int(runs["seed"][row]))

    return take(runs, np.array(sorted(range(len(runs["seed"])), key=key)))


def natural_key(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key of `text`, by which numbers inside texts are sorted numerically.

    >>> sorted(["chain-10", "chain-5", "grid-5x5"], key=natural_key)
    ['chain-5', 'chain-10', 'grid-5x5']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def split_laws(runs: Columns) -> Columns:
    """Return `runs` with the column `law` changed where a law cannot be drawn as one line.

    A law cannot be drawn as one line against the expected delay if two of its delays have the same
    expected delay. For the runs of such a law, the column `delay` is copied to the column `law`.
    """
    law = runs["law"].astype(object)
    for name in dict.fromkeys(law):
        rows = runs["law"] == name
        delays = set(zip(runs["delay"][rows], runs["mean_delay"][rows], strict=True))
        if len({mean for _, mean in delays}) < len(delays):
            law[rows] = runs["delay"][rows]
    return {**runs, "law": law}


def repeat_undelayed(runs: Columns) -> Columns:
    """Return `runs` with the runs without delay repeated for each delay law in the column `law`.

    Lines against the expected delay thus begin at 0 for every law. Runs whose expected delay is
    infinite, or not known because it depends on what is played, are omitted.
    """
    delayed = (runs["mean_delay"] > 0) & np.isfinite(runs["mean_delay"])
    without = np.flatnonzero(runs["mean_delay"] == 0)
    laws = list(dict.fromkeys(runs["law"][delayed])) or ["constant"]
    rows = np.concatenate([np.flatnonzero(delayed), np.tile(without, len(laws))])
    repeated = dict(take(runs, rows))
    law = repeated["law"].astype(object)
    law[delayed.sum() :] = np.repeat(np.array(laws, object), without.size)
    return {**repeated, "law": law}


def split_delays(runs: Columns) -> Iterator[tuple[str, Columns]]:
    """Yield the name of a delay law and its runs, for each figure of regret over episodes.

    If `runs` has at most `MAX_DELAYS_PER_FIGURE` delays, there is one figure for all runs, and the
    name is empty. Otherwise each law has a figure, which includes the runs without delay.
    """
    if len(set(runs["delay"])) <= MAX_DELAYS_PER_FIGURE:
        yield "", runs
        return
    for law in dict.fromkeys(runs["law"][runs["mean_delay"] != 0]):
        mask = (runs["law"] == law) | (runs["mean_delay"] == 0)
        yield str(law), take(runs, np.flatnonzero(mask))


def panels_of(
    runs: Columns,
    curves: Curves,
    x: str,
    panel_labels: NDArray[Any],
    line_labels: NDArray[Any],
) -> Panels:
    """Return the bands of regret: cumulative over episodes, or final against another column.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    curves : Curves
        Function that returns the regret curves of a setting.
    x : str
        "episode", or a column of numbers in `runs`, such as "mean_delay".
    panel_labels, line_labels : NDArray
        Title of the panel and label of the line of each run.

    Returns
    -------
    Panels
        Bands of the lines of each panel.

    Raises
    ------
    ValueError
        If several settings have the same panel and line and, unless `x` is "episode", the same x.
    """
    panels: dict[str, dict[str, Band]] = {}
    for panel, line in dict.fromkeys(zip(panel_labels, line_labels, strict=True)):
        rows = (panel_labels == panel) & (line_labels == line)
        settings, lines = runs["setting"][rows], panels.setdefault(str(panel), {})
        if x == "episode":
            lines[line] = curve_band(curves(only_setting(settings, line)))
            continue
        at = runs[x][rows]
        for value in np.unique(at):
            only_setting(settings[at == value], line)
        lines[line] = final_band(at, runs["total_regret"][rows])
    return panels


def only_setting(settings: NDArray[Any], line: str) -> str:
    """Return the only distinct value of `settings`, the ids of the settings that a line shows.

    Raise ValueError if there are several values. `line` is the label of the line, which is used in
    the error message.
    """
    first, *others = dict.fromkeys(map(str, settings))
    if others:
        raise ValueError(
            f"{first} and {others[0]} would both be the line {line!r}; "
            "a line shows one setting. Choose among them, such as stages='each'."
        )
    return first
