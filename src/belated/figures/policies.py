"""Pictures of tables with steps and states: the actions of a policy, and the values of a world."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from belated.episode import Floats, Policy
from belated.figures.styles import PALETTE, figure_of

VALUE_COLOURS: Final = LinearSegmentedColormap.from_list("values", ["white", "#8fbfe0"])

MAX_LABELLED_CELLS: Final = 300
"""Maximum number of cells of a picture in which each cell contains the number of its action."""

MAX_LABELLED_ROWS: Final = 20
"""Maximum number of states, and also of steps, of a picture in which each cell contains the number
of its action."""

RANDOM_COLOUR: Final = "0.85"
"""Colour of the cells where a policy draws its action at random."""

TERMINAL_COLOUR: Final = "white"
"""Colour of the cells of terminal states."""

TERMINAL, EXPLORED = -2, -1
"""Values of a cell that has no single action: TERMINAL in a terminal state, EXPLORED where the
policy draws its action at random."""

CELL_IN: Final = 0.26
"""Side of a cell in inches, unless the picture would exceed `MAX_SIDE_IN`."""

MAX_SIDE_IN: Final = 5.0
"""Maximum width and height of a picture, without legend and labels, in inches."""


def draw_policy(axes: Axes, policy: Policy, *, actions: Sequence[str] = ()) -> tuple[float, float]:
    """Draw the action of each step and state as a coloured cell.

    State 0 is at the top. Cells in which the policy draws its action at random are grey, and cells
    of terminal states are blank. Return the width and height, in inches, of a figure of the table.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    policy : Policy
        Policy to draw.
    actions : Sequence[str]
        Names of the actions. If empty, the actions are numbered.
    """
    table = policy.actions.T.astype(np.int64)
    if policy.explore is not None:
        table = np.where(policy.explore.any(axis=2).T, EXPLORED, table)
    table[list(policy.terminal)] = TERMINAL
    count = max(int(policy.actions.max()) + 1, len(actions))
    if policy.explore is not None:
        count = max(count, policy.explore.shape[2])
    colours = [TERMINAL_COLOUR, RANDOM_COLOUR, *(PALETTE[a % len(PALETTE)] for a in range(count))]
    draw_cells(axes, table, cmap=ListedColormap(colours), vmin=-2.5, vmax=count - 0.5)
    S, H = table.shape
    if table.size <= MAX_LABELLED_CELLS and max(S, H) <= MAX_LABELLED_ROWS:
        centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
        for (s, h), a in np.ndenumerate(table):
            text = {TERMINAL: "", EXPLORED: "?"}.get(int(a), str(a))
            axes.text(h + 1, s, text, color="0.3" if a < 0 else "w", **centred)
    names = [*actions, *(f"action {a}" for a in range(len(actions), count))]
    labels = {a: f"{a}: {name}" if actions else name for a, name in enumerate(names)}
    labels |= {EXPLORED: "drawn at random", TERMINAL: "terminal state"}
    shown = np.unique(table).tolist()
    handles = [
        Patch(fc=colours[a - TERMINAL], ec="0.7" if a == TERMINAL else "none", label=label)
        for a, label in labels.items()
        if a in shown
    ]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.02, 1),
        borderaxespad=0,
        frameon=False,
        handlelength=1,
    )
    return figure_size_in(table)


def draw_values(axes: Axes, values: Floats) -> tuple[float, float]:
    """Draw the value of each step and state as a coloured cell, with a colour bar.

    `axes` are the axes to draw on. `values` contains the optimal values V*, of shape (H, S). Return
    the width and height, in inches, of a figure of the table.
    """
    image = draw_cells(axes, values.T, cmap=VALUE_COLOURS, vmin=0)
    bar = figure_of(axes).colorbar(image, ax=axes, shrink=0.9, pad=0.02)
    bar.set_label("Optimal value V* from there on")
    bar.outline.set_visible(False)
    return figure_size_in(values.T)


def draw_cells(axes: Axes, table: Any, **colours: Any) -> Any:
    """Draw a table with a row for each state, from the top, and a column for each step.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    table : NDArray
        Numbers, of shape (S, H).
    **colours
        Arguments `cmap`, `vmin` and `vmax` of Matplotlib's imshow.

    Returns
    -------
    AxesImage
        The picture of the table.
    """
    S, H = table.shape
    extent = (0.5, H + 0.5, S - 0.5, -0.5)
    image = axes.imshow(
        table, origin="upper", aspect="auto", interpolation="nearest", extent=extent, **colours
    )
    axes.grid(False)
    axes.set_xlabel("Step")
    axes.set_ylabel("State")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    return image


def figure_size_in(table: Any) -> tuple[float, float]:
    """Return the width and height, in inches, of a figure of `table`, as drawn by `draw_cells`."""
    height, width = (min(max(CELL_IN * n, 1.6), MAX_SIDE_IN) for n in table.shape)
    return width + 2.2, height + 0.8
