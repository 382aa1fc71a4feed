"""Arrows: moves between the states of a world, as wide as they are likely, and their legend."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch

from belated.episode import Floats
from belated.figures.looks import PALETTE

GREY: Final = "0.6"

LOOP: Final = (0.5, 2.4)
"""Half the angle from which a loop leaves its state, and how far it goes out."""


def colour_of(action: int) -> str:
    """The colour of an action."""
    return PALETTE[action % len(PALETTE)]


def straight(axes: Axes, begin: Floats, end: Floats, colour: str, p: float) -> None:
    """A straight arrow for a move of probability p."""
    _arrow(axes, begin, end, colour, p)


def move(axes: Axes, begin: Circle, end: Circle, colour: str, p: float, *, bend: float) -> Floats:
    """A bent arrow from state to state; returns its middle."""
    at, to = np.array(begin.center), np.array(end.center)
    _arrow(axes, at, to, colour, p, bend=bend, patchA=begin, patchB=end)
    dx, dy = to - at
    return (at + to) / 2 + bend / 2 * np.array([dy, -dx])


def loop(axes: Axes, state: Circle, outward: Floats, colour: str, p: float) -> Floats:
    """An arrow from a state to itself; returns its farthest point."""
    half, bend = LOOP
    place = np.array(state.center)
    along = state.radius * math.cos(half) * outward
    across = state.radius * math.sin(half) * np.array([-outward[1], outward[0]])
    _arrow(axes, place + along - across, place + along + across, colour, p, bend=bend)
    return place + along + bend * state.radius * math.sin(half) * outward


def _arrow(
    axes: Axes, begin: Floats, end: Floats, colour: str, p: float, *, bend: float = 0, **ends: Any
) -> None:
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


def write(axes: Axes, place: Floats, text: str, colour: str) -> None:
    """A number on an arrow."""
    gap = {"facecolor": "white", "edgecolor": "none", "boxstyle": "square,pad=0.08"}
    x, y = place
    axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color=colour, bbox=gap)


def key(label: str, colour: str) -> Line2D:
    """An arrow in the legend."""
    return Line2D([], [], color=colour, linewidth=1.5, label=label)


def legend(axes: Axes, keys: Sequence[Line2D], *, note: str) -> None:
    """What the arrows and the numbers are, below the picture."""
    axes.legend(
        handles=list(keys),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=min(len(keys), 3),
        fontsize=7.5,
        title=note,
        title_fontsize=7,
        handlelength=1.6,
    )
