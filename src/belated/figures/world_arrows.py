"""Arrows for transitions in pictures of worlds, and the legend of a picture.

The width of an arrow grows with the probability of its transition.
"""

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
"""Colour of the less important arrows of a picture.

In the layout of steps, they show actions that are not optimal. In a grid, they show moves that an
optimal action can make in a direction other than its own. The layout of steps also uses this colour
for the states after the last step.
"""

LOOP_HALF_ANGLE_RAD: Final = 0.5
"""Half the angle between the two ends of a loop, seen from the centre of its state, in radians."""

LOOP_BEND: Final = 2.4
"""Curvature of a loop: twice its height, divided by the distance between its ends."""


def action_colour(action: int) -> str:
    """Return the colour of the action with index `action`. Colours repeat after the last one."""
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
        Points (x, y) at which the arrow begins and ends.
    colour : str
        Colour of the arrow.
    p : float
        Probability of the transition.
    bend : float
        Curvature: twice the height of the arc, relative to the distance between its ends; 0 for a
        straight arrow.
    **ends
        Keyword arguments `patchA` and `patchB` of Matplotlib's FancyArrowPatch: shapes at whose
        edges the arrow begins and ends.
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
    """Draw a bent arrow between two states, and return the position of its label.

    Parameters
    ----------
    axes, colour, p, bend
        As in `draw_arrow`.
    begin, end : Circle
        Circles of the two states.

    Returns
    -------
    Floats
        Middle of the arrow (x, y).
    """
    begin_at, end_at = np.array(begin.center), np.array(end.center)
    draw_arrow(axes, begin_at, end_at, colour, p, bend=bend, patchA=begin, patchB=end)
    dx, dy = end_at - begin_at
    return (begin_at + end_at) / 2 + bend / 2 * np.array([dy, -dx])


def draw_loop(axes: Axes, state: Circle, outward: Floats, colour: str, p: float) -> Floats:
    """Draw an arrow from a state to itself, and return the position of its label.

    Parameters
    ----------
    axes, colour, p
        As in `draw_arrow`.
    state : Circle
        Circle of the state.
    outward : Floats
        Unit vector (x, y) from the centre of the state towards the loop.

    Returns
    -------
    Floats
        Point (x, y) of the loop that is farthest from the state.
    """
    centre = np.array(state.center)
    half_width = state.radius * math.sin(LOOP_HALF_ANGLE_RAD)
    along = state.radius * math.cos(LOOP_HALF_ANGLE_RAD) * outward
    across = half_width * np.array([-outward[1], outward[0]])
    begin, end = centre + along - across, centre + along + across
    draw_arrow(axes, begin, end, colour, p, bend=LOOP_BEND)
    return centre + along + LOOP_BEND * half_width * outward


def write_label(axes: Axes, position: Floats, text: str, colour: str) -> None:
    """Write a label with a white background over an arrow.

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
    """Return a legend entry with the text `label` for arrows drawn in `colour`."""
    return Line2D([], [], color=colour, linewidth=1.5, label=label)


def add_legend(axes: Axes, handles: Sequence[Line2D], *, note: str) -> None:
    """Add a legend below a picture of a world.

    Parameters
    ----------
    axes : Axes
        Axes of the picture.
    handles : Sequence[Line2D]
        Entries of the legend.
    note : str
        Explanation of the numbers in the picture, used as the title of the legend.
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
