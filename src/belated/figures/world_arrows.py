"""Arrows for transitions in pictures of worlds, wider for higher probability, and their legend."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch

from belated.episode import Floats
from belated.figures.styles import PALETTE

GREY: Final = "0.6"
"""Colour of actions that are not optimal."""

LOOP_HALF_ANGLE_RAD: Final = 0.5
"""Half the angle between the start and the end of a loop, seen from the centre of its state."""

LOOP_BEND: Final = 2.4
"""Height of a loop relative to the distance between its ends."""


def action_colour(action: int) -> str:
    """Return the colour of `action`."""
    return PALETTE[action % len(PALETTE)]


def draw_arrow(
    axes: Axes, begin: Floats, end: Floats, colour: str, p: float, *, bend: float = 0, **ends: Any
) -> None:
    """Draw an arrow whose width grows with the probability of a transition.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    begin, end : Floats
        End points (x, y).
    colour : str
        Colour of the arrow.
    p : float
        Probability of the transition.
    bend : float
        Height of the arc relative to its length; 0 for a straight arrow.
    **ends
        `patchA` and `patchB`, shapes at whose edges the arrow begins and ends.
    """
    axes.add_patch(
        FancyArrowPatch(
            tuple(begin),
            tuple(end),
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>,head_length=3.5,head_width=1.6",
            color=colour,
            linewidth=0.6 + 1.1 * p,
            shrinkA=0.5,
            shrinkB=0.5,
            **ends,
        )
    )


def draw_transition(
    axes: Axes, begin: Circle, end: Circle, colour: str, p: float, *, bend: float
) -> Floats:
    """Draw a bent arrow between two states and return its middle (x, y).

    Parameters
    ----------
    axes, colour, p, bend
        As in `draw_arrow`.
    begin, end : Circle
        The states.

    Returns
    -------
    Floats
        Position for a label.
    """
    begin_at, end_at = np.array(begin.center), np.array(end.center)
    draw_arrow(axes, begin_at, end_at, colour, p, bend=bend, patchA=begin, patchB=end)
    dx, dy = end_at - begin_at
    return (begin_at + end_at) / 2 + bend / 2 * np.array([dy, -dx])


def draw_loop(axes: Axes, state: Circle, outward: Floats, colour: str, p: float) -> Floats:
    """Draw an arrow from a state to itself and return its farthest point (x, y).

    Parameters
    ----------
    axes, colour, p
        As in `draw_arrow`.
    state : Circle
        The state.
    outward : Floats
        Unit vector from the state towards the loop.

    Returns
    -------
    Floats
        Position for a label.
    """
    centre = np.array(state.center)
    half_width = state.radius * math.sin(LOOP_HALF_ANGLE_RAD)
    along = state.radius * math.cos(LOOP_HALF_ANGLE_RAD) * outward
    across = half_width * np.array([-outward[1], outward[0]])
    begin, end = centre + along - across, centre + along + across
    draw_arrow(axes, begin, end, colour, p, bend=LOOP_BEND)
    return centre + along + LOOP_BEND * half_width * outward


def write_label(axes: Axes, position: Floats, text: str, colour: str) -> None:
    """Write a number over an arrow.

    Parameters
    ----------
    axes : Axes
        Axes to write on.
    position : Floats
        Centre of the text (x, y).
    text : str
        Text.
    colour : str
        Colour of the text.
    """
    background = {"facecolor": "white", "edgecolor": "none", "boxstyle": "square,pad=0.08"}
    x, y = position
    axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color=colour, bbox=background)


def legend_line(label: str, colour: str) -> Line2D:
    """Return the legend entry `label` of an arrow drawn in `colour`."""
    return Line2D([], [], color=colour, linewidth=1.5, label=label)


def add_legend(axes: Axes, handles: Sequence[Line2D], *, note: str) -> None:
    """Add a legend below a picture.

    Parameters
    ----------
    axes : Axes
        Axes of the picture.
    handles : Sequence[Line2D]
        Entries of the legend.
    note : str
        Meaning of the numbers in the picture.
    """
    axes.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=min(len(handles), 3),
        fontsize=7.5,
        title=note,
        title_fontsize=7,
        handlelength=1.6,
    )
