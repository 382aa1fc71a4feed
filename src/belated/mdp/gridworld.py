"""A grid to be crossed, where a move may slip sideways (after Russell and Norvig, chapter 17)."""

from collections.abc import Container, Iterable
from typing import Final

import numpy as np

from belated.episode import Shape, check_integer
from belated.mdp.model import MDP

UP: Final = 0
RIGHT: Final = 1
DOWN: Final = 2
LEFT: Final = 3

MOVES: Final = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Rows and columns that an action goes; its neighbours in this order are at right angles to it."""

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
    """From the upper left cell to the goal, the lower right one unless given.

    An action goes one cell `up`, `right`, `down` or `left`; with probability `slip` it goes to
    one of its two sides instead, each as likely (Russell and Norvig: 0.2 in all). A move into a
    wall or off the grid holds. The goal keeps whom it has and pays 1 a step; nothing else pays.
    Without slips V*_1(s_1) = max(H - d, 0), with d the length of the shortest way.

    Cell (row, column) is state row * columns + column. Walls keep their numbers, and no move
    leads into them.

    >>> gridworld(5, 5, horizon=20)
    MDP(states=25, actions=4, horizon=20, homogeneous, 286 successors)
    """
    check_integer("rows", rows, 1)
    check_integer("columns", columns, 1)
    if not 0 <= slip <= 1:
        raise ValueError(f"slip is {slip}; it must lie in [0, 1].")
    goal = check_cell("goal", (rows - 1, columns - 1) if goal is None else goal, rows, columns)
    blocked = {check_cell("walls", wall, rows, columns) for wall in walls}
    for name, cell in (("the first cell", (0, 0)), ("the goal", goal)):
        if cell in blocked:
            raise ValueError(f"walls holds {cell}, which is {name}; that must be free.")

    free = {*np.ndindex(rows, columns)} - blocked
    entries = []
    for cell in np.ndindex(rows, columns):
        for action in range(len(MOVES)):
            moves = cell in free and cell != goal
            landings = after(cell, action, slip, free) if moves else {cell: 1.0}
            state = cell[0] * columns + cell[1]
            entries += [(state, action, r * columns + c, p) for (r, c), p in landings.items()]
    rewards = np.zeros((rows * columns, len(MOVES)))
    rewards[goal[0] * columns + goal[1]] = 1.0
    return MDP.sparse(Shape(rows * columns, len(MOVES), horizon), entries, rewards)


def after(cell: Cell, action: int, slip: float, free: Container[Cell]) -> dict[Cell, float]:
    """Where a move may end, and how likely."""
    chances: dict[Cell, float] = {}
    for turn, chance in ((0, 1 - slip), (1, slip / 2), (-1, slip / 2)):
        down, right = MOVES[(action + turn) % len(MOVES)]
        to = (cell[0] + down, cell[1] + right)
        end = to if to in free else cell
        chances[end] = chances.get(end, 0.0) + chance
    return chances


def check_cell(name: str, cell: Cell, rows: int, columns: int) -> Cell:
    """A cell of the grid, or a sentence about it."""
    try:
        row, column = (check_integer(name, at, 0) for at in cell)
        inside = row < rows and column < columns
    except (TypeError, ValueError):
        inside = False
    if not inside:
        raise ValueError(
            f"{name} has {cell!r}; a cell is (row, column) with rows 0 .. {rows - 1} "
            f"and columns 0 .. {columns - 1}."
        )
    return row, column
