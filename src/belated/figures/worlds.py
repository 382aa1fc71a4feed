"""Pictures of small worlds: what leads where, what pays, and what is best."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from belated.figures.layouts import draw_grid, draw_ring, draw_row, draw_steps
from belated.figures.looks import LOOKS, saved, sign
from belated.mdp.model import MDP
from belated.mdp.worlds import Layout

LARGEST: Final = {"row": 12, "ring": 6, "steps": 12, "grid": 144}
"""States that are still told apart."""

MOVES: Final = 24
"""Arrows in a ring that are still told apart."""

INCHES: Final = 0.85
"""From a state to its neighbour."""

LEAST: Final = 4.2
"""Width of a figure, in inches."""

MARGIN: Final = 1.3
"""Height of the title, the legend and the small print, in inches."""

WIDTH: Final = 60
"""Characters of the command on a line."""


def draw_world(
    world: MDP,
    path: str | Path,
    *,
    title: str,
    command: str,
    layout: Layout = "ring",
    actions: Sequence[str] = (),
) -> list[Path]:
    """Draw a small world; returns the files.

    `path` comes without a suffix: one PDF and one PNG are written. `actions` are the names of the
    actions, if they have any. `command` is what makes the figure again, and stands below it.
    """
    with style.context(["default", LOOKS]):
        figure = drawn(world, title=title, command=command, layout=layout, actions=actions)
        return saved(figure, Path(path))


def refusal(world: MDP, layout: Layout) -> str | None:
    """Why a world cannot be drawn, in a sentence; None if it can."""
    S, H = world.shape.states, world.shape.horizon
    kind = layout if isinstance(layout, str) else "grid"
    most = LARGEST[kind]
    if kind == "steps" and max(S, H) > most:
        return f"{S} states and {H} steps are too many to draw; at most {most} of each fit."
    if most < S:
        return f"{S} states are too many to draw; at most {most} fit."
    if kind == "ring" and world.succ.size > MOVES:
        return f"{world.succ.size} successors are too many to draw; at most {MOVES} fit."
    if not isinstance(layout, str) and math.prod(layout) != S:
        return f"{S} states do not fill a grid of {layout[0]} x {layout[1]} cells."
    if kind in ("row", "ring") and not (world.homogeneous and len(world.rewards) == 1):
        return "The world changes from step to step, which cannot be drawn."
    return None


def drawn(
    world: MDP, *, title: str, command: str, layout: Layout, actions: Sequence[str] = ()
) -> Figure:
    """The figure, not yet on disk."""
    said = refusal(world, layout)
    if said is not None:
        raise ValueError(said)
    names = list(actions) or [f"action {a}" for a in range(world.shape.actions)]
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_title(title, loc="left")
    if layout == "row":
        draw_row(axes, world, names)
    elif layout == "ring":
        draw_ring(axes, world, names)
    elif layout == "steps":
        draw_steps(axes, world, names)
    else:
        draw_grid(axes, world, names, columns=layout[1])
    width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    inches = max(INCHES, LEAST / width)
    figure.set_size_inches(inches * width, inches * height + MARGIN)
    sign(figure, command, width=WIDTH)
    return figure
