"""Expected computing times of cells, and the share of a sweep's work that is done."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from belated.episode import Shape
from belated.sweep.cell import Cell

STEP_COST: Final = 0.1
"""Time of one step of an episode, relative to the fixed time of an episode."""

PLAN_COST: Final = 1.0
"""Fixed time of a plan, in the same unit."""

VALUE_COST: Final = 0.05
"""Time of a plan for each step, state and action, in the same unit."""

MAX_PLANS: Final = 0.7
"""Number of plans for each episode if every arrival makes a plan due."""

LAZY_PLANS: Final = 11.0
"""Number of plans of lazy updating with alpha = 1, divided by the root of the number of rows."""

BASE_COSTS: Final = {"psrl": 50.0, "kl-ucrl": 10.0, "epsilon-greedy": 4.0, "ucrl2": 2.0}
"""Factor of `VALUE_COST` by name of the base; 1 for other bases."""

MIN_CELLS: Final = 3
"""Number of finished cells of a kind from which on their times are used for cells of this kind."""


def expected_cost(cell: Cell, shape: Shape) -> float:
    """Return a rough estimate of the computing time of `cell`, in arbitrary units.

    `shape` is the shape of its world.
    """
    H, S, A = shape.table
    plans = MAX_PLANS * cell.episodes
    if cell.updater.startswith("lazy"):
        given = cell.updater.partition(":")[2]
        alpha = 10.0 if given == "auto" else float(given)
        rows = S * A * (H if cell.stages == "each" else 1)
        plans = min(plans, LAZY_PLANS * alpha**0.7 * rows**0.5)  # fitted to measurements
    plan = PLAN_COST + H * S * A * VALUE_COST * BASE_COSTS.get(cell.base, 1.0)
    return len(cell.seeds) * (cell.episodes * (1 + H * STEP_COST) + plans * plan)


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
