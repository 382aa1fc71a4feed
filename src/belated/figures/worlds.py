"""Pictures of small worlds, which show transitions, rewards and optimal actions."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from belated.figures.styles import RC_PARAMS, add_command, figure_of, save_figure
from belated.figures.world_layouts import draw_grid, draw_ring, draw_row, draw_steps
from belated.mdp.model import MDP
from belated.mdp.worlds import Layout

MAX_STATES: Final = {"row": 12, "ring": 6, "steps": 12, "grid": 144}
"""Map from the kind of a layout to the maximum number of states in a legible picture."""

MAX_RING_ARROWS: Final = 24
STATE_DISTANCE_IN: Final = 0.85
"""Minimum distance between neighbouring states, in inches."""

MIN_WIDTH_IN: Final = 4.2
MARGIN_IN: Final = 1.3
"""Total height in inches of the title, the legend, and the command that draws the figure."""

COMMAND_LINE_CHARS: Final = 60
LAYOUTS: Final = {"row": draw_row, "ring": draw_ring, "steps": draw_steps}


def draw_world(
    world: MDP,
    path: str | Path,
    *,
    title: str,
    command: str,
    layout: Layout = "ring",
    actions: Sequence[str] = (),
) -> list[Path]:
    """Draw a picture of a small world, and write it as PDF and PNG.

    Parameters
    ----------
    world : MDP
        World to draw.
    path : str or Path
        Path of the files, without suffix.
    title : str
        Title of the figure.
    command : str
        Command that reproduces the figure, printed below it.
    layout : Layout
        Arrangement of the states: "row", "ring", "steps" (a row of states for each step), or a pair
        (rows, columns) for a grid.
    actions : Sequence[str]
        Names of the actions. If empty, the actions are numbered.

    Returns
    -------
    list[Path]
        The files written, a PDF and a PNG.

    Raises
    ------
    ValueError
        If the world cannot be drawn; see `check_drawable`.
    """
    with style.context(["default", RC_PARAMS]):
        figure = build_figure(world, title=title, command=command, layout=layout, actions=actions)
        return save_figure(figure, Path(path))


def check_drawable(world: MDP, layout: Layout) -> None:
    """Raise ValueError if `world` cannot be drawn in `layout`.

    A world cannot be drawn if it has too many states, steps or transitions, or if its states do not
    fill the grid. A row or a ring requires a time-homogeneous world.
    """
    S, H = world.shape.states, world.shape.horizon
    kind = layout if isinstance(layout, str) else "grid"
    limit = MAX_STATES[kind]
    reason = ""
    if kind == "steps" and max(S, H) > limit:
        reason = f"{S} states and {H} steps are too many to draw; at most {limit} of each fit."
    elif limit < S:
        reason = f"{S} states are too many to draw; at most {limit} fit."
    elif kind == "ring" and (arrows := world.succ.size) > MAX_RING_ARROWS:
        reason = f"{arrows} successors are too many to draw; at most {MAX_RING_ARROWS} fit."
    elif not isinstance(layout, str) and math.prod(layout) != S:
        reason = f"{S} states do not fill a grid of {layout[0]} x {layout[1]} cells."
    elif kind in ("row", "ring") and not (world.homogeneous and len(world.rewards) == 1):
        reason = f"A world that differs between steps cannot be drawn as a {kind}."
    if reason:
        raise ValueError(reason)


def build_figure(
    world: MDP, *, title: str, command: str, layout: Layout, actions: Sequence[str] = ()
) -> Figure:
    """Return the picture of `draw_world` without saving it.

    Parameters
    ----------
    world, title, command, layout, actions
        As in `draw_world`.

    Returns
    -------
    Figure
        The figure.
    """
    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    draw_states(axes, world, layout=layout, actions=actions)
    axes.set_title(title, loc="left")
    fit_figure(axes)
    add_command(figure, command, width=COMMAND_LINE_CHARS)
    return figure


def draw_states(axes: Axes, world: MDP, *, layout: Layout, actions: Sequence[str] = ()) -> None:
    """Draw the states and transitions of a small world on axes without ticks.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    world, layout, actions
        As in `draw_world`.
    """
    check_drawable(world, layout)
    names = list(actions) or [f"action {a}" for a in range(world.shape.actions)]
    axes.set_axis_off()
    axes.set_aspect("equal")
    if isinstance(layout, str):
        LAYOUTS[layout](axes, world, names)
    else:
        draw_grid(axes, world, names, columns=layout[1])


def fit_figure(axes: Axes) -> None:
    """Set the size of the figure that contains `axes`, according to the limits of the axes.

    `axes` contain a picture of a world.
    """
    width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    scale = max(STATE_DISTANCE_IN, MIN_WIDTH_IN / width)
    figure_of(axes).set_size_inches(scale * width, scale * height + MARGIN_IN)


def find_layout(world: MDP) -> Layout | None:
    """Return a layout in which `world` can be drawn, or None if there is none.

    The candidates are a row, if every transition changes the number of the state by at most 1; a
    grid with c columns, if every transition changes this number by 0, 1 or c, where c divides the
    number of states; a ring; and a row of states for each step. The returned layout is a candidate
    that `check_drawable` accepts.

    >>> from belated.mdp.worlds import world
    >>> [find_layout(world(name)) for name in ("chain-5", "grid-3x7", "garnet-4-2-2", "chain-30")]
    ['row', (3, 7), 'ring', None]
    """
    S, A = world.shape.states, world.shape.actions
    state = np.repeat(np.arange(world.ptr.size - 1) // A % S, np.diff(world.ptr))
    moves = sorted(set(np.abs(world.succ - state).tolist()) - {0})
    candidates: list[Layout] = ["row", "steps"] if moves == [1] else []
    if len(moves) == 2 and moves[0] == 1 and S % moves[1] == 0:
        candidates.append((S // moves[1], moves[1]))
    for layout in (*candidates, "ring", "steps"):
        try:
            check_drawable(world, layout)
        except ValueError:
            continue
        return layout
    return None
