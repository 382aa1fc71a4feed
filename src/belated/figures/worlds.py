"""Pictures of small worlds, which show transitions, rewards and optimal actions.

The states are in a row, in a ring or in a grid. The width of an arrow grows with the probability of
its transition.
"""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from belated.episode import Bools, Floats
from belated.exact.values import optimal_actions, optimal_table
from belated.figures.policies import VALUE_COLOURS, draw_values
from belated.figures.styles import FOOTER, PALETTE, RC_PARAMS, save_figure
from belated.mdp.model import MDP
from belated.mdp.worlds import Layout

MAX_STATES: Final = {"row": 12, "ring": 6, "grid": 144}
"""Map from the kind of a layout to the maximum number of states in a legible picture."""

MAX_RING_ARROWS: Final = 24
STATE_DISTANCE_IN: Final = 0.85
"""Minimum distance between neighbouring states, in inches."""

MIN_WIDTH_IN: Final = 4.2
MARGIN_IN: Final = 1.3
"""Total height in inches of the title, the legend, and the command that draws the figure."""

COMMAND_LINE_CHARS: Final = 60

STATE_RADIUS: Final = 0.25
"""Radius of a state. The unit is the distance between neighbouring states in a row."""

DIRECTIONS: Final = {"up": (0, 1), "right": (1, 0), "down": (0, -1), "left": (-1, 0)}
"""Map from the name of an action on a grid to the direction (x, y) of its move."""

START_LINEWIDTH: Final = 2.2
"""Width of the frame of an initial state, in points."""

UNREACHABLE_COLOUR: Final = "0.35"
TERMINAL_COLOUR: Final = "0.8"

GREY: Final = "0.6"
"""Colour of moves on a grid that an optimal action can make in a direction other than its own."""

LOOP_HALF_ANGLE_RAD: Final = 0.5
"""Half the angle between the two ends of a loop, seen from the centre of its state, in radians."""

LOOP_BEND: Final = 2.4
LABEL: Final[dict[str, Any]] = {
    "ha": "center",
    "va": "center",
    "bbox": {"facecolor": "white", "edgecolor": "none", "boxstyle": "square,pad=0.08"},
}
"""Text properties of the labels over arrows."""
"""Curvature of a loop: twice its height, divided by the distance between its ends."""


def save_world(
    world: MDP,
    path: str | Path,
    *,
    title: str,
    command: str,
    layout: Layout,
    actions: Sequence[str] = (),
) -> list[Path]:
    """Draw a picture of a small world, and write it as PDF and PNG.

    Parameters
    ----------
    world, layout, actions
        As in `draw_world`.
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
    with style.context(["default", RC_PARAMS]):
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        figure.set_size_inches(draw_world(axes, world, layout=layout, actions=actions))
        axes.set_title(title, loc="left")
        lines = textwrap.wrap(command, COMMAND_LINE_CHARS)
        figure.supxlabel("\n".join(lines), x=0.01, **FOOTER)
        return save_figure(figure, Path(path))


def draw_world(
    axes: Axes, world: MDP, *, layout: Layout | None = None, actions: Sequence[str] = ()
) -> tuple[float, float]:
    """Draw a world: states and transitions or, if it is too large, a table of its optimal values.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    world : MDP
        World to draw.
    layout : Layout, optional
        Arrangement of the states: "row", "ring", or a pair (rows, columns) for a grid; by default
        that of `find_layout`. ValueError is raised if it does not fit; see `check_drawable`.
    actions : Sequence[str]
        Names of the actions. If empty, the actions are numbered.

    Returns
    -------
    tuple[float, float]
        Width and height of a figure of the world, in inches.
    """
    layout = layout or find_layout(world)
    if layout is None:
        return draw_values(axes, optimal_table(world)[:-1])
    check_drawable(world, layout)
    names = list(actions) or [f"action {a}" for a in range(world.shape.actions)]
    axes.set_axis_off()
    axes.set_aspect("equal")
    if isinstance(layout, str):
        draw_graph(axes, world, names, layout=layout)
    else:
        draw_grid(axes, world, names, columns=layout[1])
    width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    scale = max(STATE_DISTANCE_IN, MIN_WIDTH_IN / width)
    return scale * width, scale * height + MARGIN_IN


def check_drawable(world: MDP, layout: Layout) -> None:
    """Raise ValueError if `world` cannot be drawn in `layout`.

    A world cannot be drawn if it has too many states or transitions, or if its states do not
    fill the grid. A row or a ring requires a time-homogeneous world.
    """
    S = world.shape.states
    kind = layout if isinstance(layout, str) else "grid"
    if isinstance(layout, str) and layout not in ("row", "ring"):
        raise ValueError(f"layout must be 'row', 'ring' or (rows, columns), got {layout!r}.")
    limit = MAX_STATES[kind]
    reason = ""
    if limit < S:
        reason = f"{S} states are too many to draw; at most {limit} fit."
    elif kind == "ring" and (arrows := world.succ.size) > MAX_RING_ARROWS:
        reason = f"{arrows} successors are too many to draw; at most {MAX_RING_ARROWS} fit."
    elif not isinstance(layout, str) and math.prod(layout) != S:
        reason = f"{S} states do not fill a grid of {layout[0]} x {layout[1]} cells."
    elif kind in ("row", "ring") and not (world.homogeneous and len(world.rewards) == 1):
        reason = f"A world that differs between steps cannot be drawn as a {kind}."
    if reason:
        raise ValueError(reason)


def find_layout(world: MDP) -> Layout | None:
    """Return a layout in which `world` can be drawn, or None if there is none.

    The candidates are a row, if every transition changes the number of the state by at most 1; a
    grid with c columns, if every transition changes this number by 0, 1 or c, where c divides the
    number of states; and a ring. The returned layout is a candidate that `check_drawable` accepts.

    >>> from belated.mdp.worlds import world
    >>> [find_layout(world(name)) for name in ("chain-5", "grid-3x7", "garnet-4-2-2", "chain-30")]
    ['row', (3, 7), 'ring', None]
    """
    S, A = world.shape.states, world.shape.actions
    state = np.repeat(np.arange(world.ptr.size - 1) // A % S, np.diff(world.ptr))
    moves = sorted(set(np.abs(world.succ - state).tolist()) - {0})
    candidates: list[Layout] = ["row"] if moves == [1] else []
    if len(moves) == 2 and moves[0] == 1 and S % moves[1] == 0:
        candidates.append((S // moves[1], moves[1]))
    for layout in (*candidates, "ring"):
        try:
            check_drawable(world, layout)
        except ValueError:
            continue
        return layout
    return None


def draw_graph(axes: Axes, world: MDP, names: Sequence[str], *, layout: str) -> None:
    """Draw the states in a row or a ring, and an arrow for each possible transition.

    An arrow has the colour of the action. In a row, arrows to the right are above the states, and
    arrows to the left below.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    world : MDP
        World to draw.
    names : Sequence[str]
        Names of the actions.
    layout : str
        Arrangement of the states: "row" or "ring".
    """
    # positions: centres of the states; loops: angles at which an action that stays is drawn (S, A)
    S, A = world.shape.states, world.shape.actions
    if layout == "row":
        bend, positions = 0.35, np.column_stack([np.arange(S), np.zeros(S)])
        loops = np.tile(np.where(np.arange(A) % 2, np.pi / 2, -np.pi / 2), (S, 1))
        axes.set(xlim=(-0.7, S - 0.3), ylim=(-0.7, 0.7))
    else:
        bend, angles = 0.13 if S > 3 else 0.3, np.pi / 2 - 2 * np.pi * np.arange(S) / S
        radius = 0.8 / math.sin(math.pi / S) if S > 1 else 0.0
        positions = radius * np.column_stack([np.cos(angles), np.sin(angles)])
        loops = angles[:, None] + 0.8 * (np.arange(A) - (A - 1) / 2)
        axes.set(xlim=(-radius - 0.75, radius + 0.75), ylim=(-radius - 0.75, radius + 0.75))
    circles = [draw_state(axes, world, s, positions[s]) for s in range(S)]
    for s, a in np.argwhere(world.shape.playable[0]).tolist():
        colour = action_colour(a)
        for y, p in zip(*world.successors(0, s, a), strict=True):
            if y == s:
                outward = np.array([math.cos(loops[s, a]), math.sin(loops[s, a])])
                at = draw_loop(axes, circles[s], outward, colour, p)
            else:
                at = draw_transition(axes, circles[s], circles[y], colour, p, bend=-bend * (A - a))
            if p < 1:
                axes.text(at[0], at[1], f"{p:.2g}", fontsize=6.5, color=colour, **LABEL)
    handles = [legend_entry(name, color=action_colour(a)) for a, name in enumerate(names)]
    note = "On arrows: transition probabilities; with +: mean reward of a step"
    rewards = world.rewards[0]
    if A > 2 and (np.ptp(rewards, axis=1) > 0).any():
        note += ", with ≤: of the best action"
    add_legend(axes, [*handles, *state_entries(world, "o")], note=note)


def draw_state(axes: Axes, world: MDP, s: int, position: Floats) -> Circle:
    """Draw a state as a circle that contains its number and its rewards.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    world : MDP
        The world.
    s : int
        Number of the state.
    position : Floats
        Centre of the circle (x, y).

    Returns
    -------
    Circle
        The circle.
    """
    edge = START_LINEWIDTH if world.start[s] > 0 else 0.8
    fill = TERMINAL_COLOUR if s in world.shape.terminal else "white"
    circle = Circle(tuple(position), STATE_RADIUS, fc=fill, ec="black", lw=edge)
    axes.add_patch(circle)
    rewards = world.rewards[0, s]
    lines: list[tuple[str, str]] = []
    if rewards.max() > 0 and np.ptp(rewards) == 0:
        lines = [(f"+{rewards[0]:.3g}", "black")]
    elif rewards.size == 2:
        lines = [(f"+{r:.2g}", action_colour(a)) for a, r in enumerate(rewards) if r > 0]
    elif rewards.max() > 0:
        lines = [(f"≤ {rewards.max():.2g}", "black")]
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    x, y = position[0], position[1] + 0.06 * len(lines)
    axes.text(x, y, str(s), fontsize=9, **centred)
    for i, (text, colour) in enumerate(lines):
        axes.text(x, y - 0.14 - 0.1 * i, text, fontsize=6, color=colour, **centred)
    return circle


def draw_grid(axes: Axes, world: MDP, names: Sequence[str], *, columns: int) -> None:
    """Draw the states as cells of a grid, with arrows for the optimal actions at the first step.

    The shade and the number of a cell show V* at the first step.

    Parameters
    ----------
    axes, world, names
        As in `draw_graph`.
    columns : int
        Number of columns of the grid.
    """
    # has_exit: states that can be left. has_entry: initial states, and states with a predecessor.
    S, A = world.shape.states, world.shape.actions
    v, best = optimal_table(world)[0], optimal_actions(world)[0]
    origin = np.repeat(np.arange(S * A), np.diff(world.ptr[: S * A + 1])) // A
    leads = world.succ[: origin.size] != origin
    has_exit, has_entry = np.isin(np.arange(S), origin[leads]), world.start > 0
    has_entry[world.succ[: origin.size][leads]] = True
    v_min, v_range = v[has_entry].min(), max(np.ptp(v[has_entry]), 1e-9)
    rewards = world.rewards[0].max(axis=1)
    few_rewards = np.mean(rewards[has_entry] > 0) < 0.5
    for s in range(S):
        x, y = s % columns, -(s // columns)
        colour = VALUE_COLOURS((v[s] - v_min) / v_range) if has_entry[s] else UNREACHABLE_COLOUR
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fc=colour, ec="0.7", lw=0.6))
        if world.start[s] > 0:
            frame: dict[str, Any] = {"fill": False, "lw": START_LINEWIDTH}
            axes.add_patch(Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, **frame))
        if not has_entry[s]:
            continue
        axes.text(x - 0.4, y + 0.4, f"{v[s]:.4g}", fontsize=6.5, va="top", color="0.25")
        if few_rewards and rewards[s] > 0:
            axes.text(x + 0.4, y - 0.4, f"+{rewards[s]:.2g}", fontsize=7.5, ha="right", va="bottom")
        if s in world.shape.terminal:
            axes.plot(x, y, marker="o", mfc=TERMINAL_COLOUR, mec="black")
        elif not has_exit[s]:
            axes.plot(x, y, marker="x", color="0.25")
        elif not best[s].all():
            draw_best_moves(axes, world, s, best[s], names, columns=columns)
    handles = [
        legend_entry("optimal first action", color=action_colour(0)),
        legend_entry("its other successors", color=GREY),
        *state_entries(world, "s"),
    ]
    if (has_entry & ~has_exit & ~world.shape.is_terminal).any():
        handles.append(legend_entry("absorbing state", marker="x", color="0.25"))
    if not has_entry.all():
        handles.append(legend_entry("unreachable cell", marker="s", color=UNREACHABLE_COLOUR))
    note = "In cells: V* at the first step; with +: mean reward of a step"
    add_legend(axes, handles, note=note)
    axes.set(xlim=(-0.6, columns - 0.4), ylim=(-(S // columns) + 0.4, 0.6))


def draw_best_moves(
    axes: Axes, world: MDP, s: int, best: Bools, names: Sequence[str], *, columns: int
) -> None:
    """Draw arrows for the optimal actions in a cell of a grid.

    A coloured arrow shows the direction of an optimal action: the direction after which it is named
    or, with another name, that of its most probable move. Grey arrows show all other moves that the
    optimal actions can make.

    Parameters
    ----------
    axes, world, names, columns
        As in `draw_grid`.
    s : int
        State of the cell.
    best : Bools
        Whether each action is optimal, (A,).
    """
    centre = np.array([s % columns, -(s // columns)], np.float64)
    intended: dict[tuple[float, float], float] = {}
    possible: dict[tuple[float, float], float] = {}
    for a in np.flatnonzero(best).tolist():
        states, probabilities = world.successors(0, s, a)
        moves = [(y % columns - centre[0], -(y // columns) - centre[1]) for y in states.tolist()]
        intended[DIRECTIONS.get(names[a], moves[int(np.argmax(probabilities))])] = 1.0
        possible |= dict(zip(moves, probabilities.tolist(), strict=True))
    others = {move: p for move, p in possible.items() if move not in intended}
    for drawn, colour in ((others, GREY), (intended, action_colour(0))):
        for move, p in drawn.items():
            if any(move):
                end = centre + 0.38 * np.array(move) / math.hypot(*move)
                draw_arrow(axes, centre, end, colour, p)


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


def legend_entry(label: str, marker: str = "", **look: Any) -> Line2D:
    """Return a legend entry with the properties `look`: a line or, if given, a marker."""
    return Line2D([], [], label=label, marker=marker, linewidth=0 if marker else 1.5, **look)


def state_entries(world: MDP, marker: str) -> list[Line2D]:
    """Return the legend entries of initial states, with a Matplotlib marker, and terminal states.

    The result has no entry of terminal states if `world` has none.
    """
    start: dict[str, Any] = {"mfc": "white", "mec": "black", "mew": START_LINEWIDTH}
    entries = [legend_entry("first state", marker, **start)]
    if world.shape.terminal:
        entries.append(legend_entry("terminal state", "o", mfc=TERMINAL_COLOUR, mec="black"))
    return entries


def add_legend(axes: Axes, handles: Sequence[Line2D], *, note: str) -> None:
    """Add a legend with the entries `handles` below a picture of a world.

    `note` explains the numbers in the picture; it is the title of the legend.
    """
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=min(len(handles), 3),
        fontsize=7.5,
        title=note,
        title_fontsize=7,
        handlelength=1.6,
    )
