"""Grid with a goal, in which a move may slip sideways (after Russell and Norvig, chapter 17)."""

from collections.abc import Container, Iterable
from typing import Final

import numpy as np

from belated.check import check_integer
from belated.episode import Shape
from belated.mdp.model import MDP

MOVES: Final = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Change of (row, column) for the actions up, right, down and left; consecutive entries
are perpendicular moves."""

Cell = tuple[int, int]


def gridworld(
    rows: int,
    columns: int,
    *,
    horizon: int,
    slip: float = 0.1,
    goal: Cell | None = None,
    walls: Iterable[Cell] = (),
) -> MDP:
    """Return a grid on which a path from the upper left cell to the goal must be found.

    An action moves one cell up (0), right (1), down (2) or left (3). A move into a wall or off
    the grid stays in place. The goal is absorbing and pays 1 per step; every other cell pays 0.
    If `slip` is 0, V*_1(s_1) = max(H - d, 0), where d is the smallest number of moves from the
    upper left cell to the goal.

    Parameters
    ----------
    rows, columns : int
        Numbers of rows and columns, each at least 1. Cell (row, column) is state
        row * columns + column.
    horizon : int
        Number of steps H of an episode, at least 1.
    slip : float
        Probability that a move goes at right angles to the action; slip / 2 for each of the two
        directions. Russell and Norvig use 0.2.
    goal : tuple[int, int], optional
        Row and column of the goal; the lower right cell if not given.
    walls : iterable of tuple[int, int]
        Cells that cannot be entered. They are still counted as states.

    Returns
    -------
    MDP
        World with rows * columns states and 4 actions.

    Examples
    --------
    >>> gridworld(5, 5, horizon=20)
    MDP(states=25, actions=4, horizon=20, homogeneous, 286 successors)
    """
    check_integer("rows", rows, 1)
    check_integer("columns", columns, 1)
    if not 0 <= slip <= 1:
        raise ValueError(f"slip must lie in [0, 1], got {slip}.")
    goal = check_cell("goal", (rows - 1, columns - 1) if goal is None else goal, rows, columns)
    blocked = {check_cell("walls", wall, rows, columns) for wall in walls}
    for name, cell in (("first cell", (0, 0)), ("goal", goal)):
        if cell in blocked:
            raise ValueError(f"walls must not contain the {name}, got {cell}.")

    free = {*np.ndindex(rows, columns)} - blocked
    entries = []
    for cell in np.ndindex(rows, columns):
        for action in range(len(MOVES)):
            moves = cell in free and cell != goal
            outcomes = move_outcomes(cell, action, slip, free) if moves else {cell: 1.0}
            state = cell[0] * columns + cell[1]
            entries += [(state, action, r * columns + c, p) for (r, c), p in outcomes.items()]
    rewards = np.zeros((rows * columns, len(MOVES)))
    rewards[goal[0] * columns + goal[1]] = 1.0
    return MDP.sparse(Shape(rows * columns, len(MOVES), horizon), entries, rewards)


def move_outcomes(cell: Cell, action: int, slip: float, free: Container[Cell]) -> dict[Cell, float]:
    """Return the probability of each cell in which a move may end.

    Parameters
    ----------
    cell : tuple[int, int]
        Row and column before the move.
    action : int
        Index into `MOVES`.
    slip : float
        Probability of a perpendicular move.
    free : container of tuple[int, int]
        Cells that can be entered.

    Returns
    -------
    dict[tuple[int, int], float]
        Map from each possible cell, as (row, column), to its probability.
    """
    outcomes: dict[Cell, float] = {}
    for turn, probability in ((0, 1 - slip), (1, slip / 2), (-1, slip / 2)):
        down, right = MOVES[(action + turn) % len(MOVES)]
        target = (cell[0] + down, cell[1] + right)
        end = target if target in free else cell
        outcomes[end] = outcomes.get(end, 0.0) + probability
    return outcomes


def check_cell(name: str, cell: Cell, rows: int, columns: int) -> Cell:
    """Return `cell` if it lies on a grid of `rows` x `columns` cells, else raise ValueError.

    `name` is the name of the checked argument, for the error message.
    """
    try:
        row, column = (check_integer(name, index, 0) for index in cell)
        inside = row < rows and column < columns
    except (TypeError, ValueError):
        inside = False
    if not inside:
        raise ValueError(
            f"{name} must give a cell as (row, column) with rows 0 .. {rows - 1} "
            f"and columns 0 .. {columns - 1}, got {cell!r}."
        )
    return row, column
