"""Expected computing times of cells, and the share of a sweep's work that is done."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from belated.episode import Shape
from belated.sweep.cell import Cell

STEP_COST: Final = 0.05
"""Time of one step of an episode, relative to the fixed time of an episode."""

PLAN_COST: Final = 1.5
"""Fixed time of a plan, in the same unit."""

VALUE_COST: Final = 0.024
"""Time of a plan for each step, state and action, in the same unit."""

BASE_COSTS: Final = {"psrl": 50.0, "kl-ucrl": 10.0, "epsilon-greedy": 4.0, "ucrl2": 2.0}
"""Factor of `VALUE_COST` by name of the base; 1 for other bases."""

MIN_CELLS: Final = 3
"""Number of finished cells of a kind from which on their times are used for cells of this kind."""


def expected_cost(cell: Cell, shape: Shape) -> float:
    """Return a rough estimate of the computing time of `cell`, in arbitrary units.

    `shape` is the shape of its world.
    """
    plans = 1.0
    if cell.updater.startswith("lazy"):
        alpha = cell.updater.partition(":")[2]
        plans = 0.1 if alpha == "auto" else 1 / (1 + 100 / float(alpha))
    H, S, A = shape.table
    plan = PLAN_COST + H * S * A * VALUE_COST * BASE_COSTS.get(cell.base, 1.0)
    return cell.episodes * len(cell.seeds) * (1 + H * STEP_COST + plans * plan)


class SweepWork:
    """Work of a sweep: expected times of its cells, corrected by the times that cells took.

    Parameters
    ----------
    cells : Sequence[Cell]
        Cells to compute.
    shapes : Mapping[str, Shape]
        Shape of the world by id of the setting.
    """

    def __init__(self, cells: Sequence[Cell], shapes: Mapping[str, Shape]) -> None:
        self.expected = {cell.id: expected_cost(cell, shapes[cell.setting]) for cell in cells}
        """Expected computing time of each cell by its id, in arbitrary units."""
        self._kinds = {cell.id: (cell.world, cell.base_label, cell.updater) for cell in cells}
        self._finished: set[str] = set()
        self._ratios: dict[tuple[str, ...], list[float]] = {}  # measured to expected, by kind

    def finish(self, id: str, seconds: float) -> None:
        """Record that the cell with this `id` is finished, and took this number of `seconds`."""
        self._finished.add(id)
        self._ratios.setdefault(self._kinds[id], []).append(seconds / self.expected[id])

    def share(self, running: Mapping[str, float]) -> float:
        """Return the share of the work that is done, in [0, 1].

        `running` holds the share of each running cell that is done, by id. The expected time of a
        cell is corrected by the median of the times of finished cells of the same world, base and
        updater; if these are fewer than `MIN_CELLS`, of all finished cells. A median ignores the
        time of compilation, which is part of the first cells.
        """
        every = [ratio for ratios in self._ratios.values() for ratio in ratios]
        typical = median(every) if every else 1.0
        by_kind = {
            kind: median(ratios)
            for kind, ratios in self._ratios.items()
            if len(ratios) >= MIN_CELLS
        }
        done = total = 0.0
        for id, cost in self.expected.items():
            cost *= by_kind.get(self._kinds[id], typical)
            total += cost
            done += cost * (1.0 if id in self._finished else min(running.get(id, 0.0), 1.0))
        return done / total if total else 1.0
