"""`plot`: draw runs, results, a world or a policy on Matplotlib axes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, overload

import matplotlib
from matplotlib import style
from matplotlib.axes import Axes
from numpy.typing import NDArray

from belated.episode import Policy
from belated.exact.values import optimal_table
from belated.figures import policies, worlds
from belated.figures.curves import LEGEND_TITLE, new_axes, plot_lines
from belated.figures.names import base_name, delay_name, title_of, updater_name, world_name
from belated.figures.result_plots import X, plot_results
from belated.figures.styles import RC_PARAMS, LineStyle, line_styles, two_way_styles
from belated.mdp.model import MDP
from belated.mdp.worlds import Layout
from belated.simulation.run import Run
from belated.sweep.bands import band
from belated.sweep.results import Results

Runs = Run | Iterable[Run]

PARTS: Final = ("base", "updater", "delay", "world")
"""Attributes of a `Run` that contain the names of the parts of its setting."""


@overload
def plot(shown: Runs | Mapping[str, Runs], *, ax: Axes | None = None, title: str = "") -> Axes: ...


@overload
def plot(
    shown: Results,
    *,
    ax: Axes | None = None,
    title: str = "",
    x: X = "episode",
    color: str | None = None,
    facet: None = None,
    **where: Any,
) -> Axes: ...


@overload
def plot(
    shown: Results,
    *,
    ax: Axes | None = None,
    title: str = "",
    x: X = "episode",
    color: str | None = None,
    facet: str | Sequence[str],
    **where: Any,
) -> NDArray[Any]: ...


@overload
def plot(
    shown: MDP,
    *,
    ax: Axes | None = None,
    title: str = "",
    layout: Layout | None = None,
    actions: Sequence[str] = (),
) -> Axes: ...


@overload
def plot(
    shown: Policy, *, ax: Axes | None = None, title: str = "", actions: Sequence[str] = ()
) -> Axes: ...


def plot(shown: Any, *, ax: Axes | None = None, title: str = "", **options: Any) -> Any:
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
        if isinstance(shown, MDP):
            return plot_world(shown, ax, title, **options)
        if isinstance(shown, Policy):
            return plot_policy(shown, ax, title, **options)
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
    lines = {label: band(runs) for label, runs in groups.items()}
    shared = [name for name in PARTS[:-1] if len({getattr(run, name) for run in every}) == 1]
    return plot_lines(
        lines,
        styles,
        ax,
        title=title or title_of([part_names(every[0])[name] for name in shared]),
        legend_title=LEGEND_TITLE if len(every) > len(groups) else "",
    )


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


def part_names(run: Run, *, options: bool = False) -> dict[str, str]:
    """Return a map from each of `PARTS` to its readable name in the setting of `run`.

    The name is empty if the run does not record the part. If `options`, the name of the base
    includes its options.
    """
    return {
        "base": base_name(run.base, options=options),
        "updater": updater_name(run.updater),
        "delay": delay_name(run.delay) if run.delay else "",
        "world": world_name(run.world),
    }


def group_runs(runs: Sequence[Run]) -> tuple[dict[str, list[Run]], dict[str, LineStyle]]:
    """Group `runs` by base, updater, delay and world.

    Return two dictionaries, whose keys are the labels of the groups: the runs of each group, and
    the style of its line. A label contains the names of the parts that differ between `runs`, or
    the base, updater and delay if none differs. The first name of a label determines the colour.
    Raise ValueError if two runs of a group have the same seed.
    """
    differing = [name for name in PARTS if len({getattr(run, name) for run in runs}) > 1]
    short = {part_names(run)["base"] for run in runs}
    options = len(short) < len({run.base for run in runs})
    groups: dict[str, list[Run]] = {}
    ways = {}
    for run in runs:
        names = part_names(run, options=options)
        first, *others = [names[name] for name in differing or PARTS[:-1]]
        label = title_of([first, *others])
        ways[label] = (label, first, title_of(others))
        groups.setdefault(label, []).append(run)
    for label, found in groups.items():
        if len({run.seed for run in found}) < len(found):
            raise ValueError(
                f"runs {label!r} have the same seed twice, so their settings differ in something "
                "that runs do not record. Give a mapping from labels to runs."
            )
    return groups, two_way_styles(ways.values())


def plot_world(
    world: MDP,
    ax: Axes | None,
    title: str,
    *,
    layout: Layout | None = None,
    actions: Sequence[str] = (),
) -> Axes:
    """Draw a world; see `MDP.plot`.

    Parameters
    ----------
    world : MDP
        World to draw.
    ax, title
        As in `plot`.
    layout, actions
        As in `MDP.plot`.

    Returns
    -------
    Axes
        The axes.
    """
    axes = ax or new_axes()
    chosen = layout or worlds.find_layout(world)
    if chosen is None:
        policies.draw_values(axes, optimal_table(world)[:-1])
    else:
        worlds.draw_states(axes, world, layout=chosen, actions=actions)
    axes.set_title(title, loc="left")
    if ax is None and chosen is None:
        policies.fit_figure(axes, world.shape.states, world.shape.horizon)
    elif ax is None:
        worlds.fit_figure(axes)
    return axes


def plot_policy(
    policy: Policy, ax: Axes | None, title: str, *, actions: Sequence[str] = ()
) -> Axes:
    """Draw the actions of a policy; see `Policy.plot`.

    Parameters
    ----------
    policy : Policy
        Policy to draw.
    ax, title
        As in `plot`.
    actions : Sequence[str]
        Names of the actions. If empty, the actions are numbered.

    Returns
    -------
    Axes
        The axes.
    """
    axes = ax or new_axes()
    policies.draw_policy(axes, policy, actions=actions)
    axes.set_title(title, loc="left")
    if ax is None:
        H, S = policy.actions.shape
        policies.fit_figure(axes, S, H)
    return axes
