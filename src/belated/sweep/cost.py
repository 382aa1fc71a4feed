"""Estimates of the computing times of cells, and of the fraction of a sweep that is done."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from belated.episode import Shape
from belated.learner.bases.base import BaseAlgorithm
from belated.sweep.cell import Cell

STEP_COST: Final = 0.1
"""Estimated time of one step of an episode. The unit is the time of an episode without its steps
and plans."""

PLAN_COST: Final = 1.0
"""Estimated time of a plan, without the part that grows with the size of the problem. The unit is
the time of an episode without its steps and plans."""

VALUE_COST: Final = 0.05
"""Estimated time of a plan for each triple of step, state and action, in addition to `PLAN_COST`.
The unit is the time of an episode without its steps and plans."""

BASE_COSTS: Final = {"kl-ucrl": 10.0, "rlsvi": 5.0, "epsilon-greedy": 4.0, "ucrl2": 2.0}
"""Map from the name of a base to the factor by which its `VALUE_COST` is multiplied. The factor of
all other bases is 1."""

SUCCESSOR_COSTS: Final = {"psrl": 3.0}
"""Map from the name of a base to a number that is added to this factor for each state. It contains
the bases that draw a random number for each possible successor."""

MIN_CELLS: Final = 3
"""Minimum number of finished cells with the same world, base and updater as an unfinished cell for
which its time is estimated from theirs alone; see `SweepWork.share`."""


def expected_cost(cell: Cell, shape: Shape) -> float:
    """Return a rough estimate of the computing time of `cell`, in arbitrary units.

    `shape` is the shape of the world of the cell.
    """
    H, S, A = shape.table
    base, updater = cell.parse_base(), cell.parse_updater()
    if isinstance(base, BaseAlgorithm) and base.replans_every_episode(updater):
        plans: float = cell.episodes
    else:
        plans = updater.expected_plans(cell.episodes, S * A * (H if cell.stages == "each" else 1))
    factor = BASE_COSTS.get(cell.base, 1.0) + S * SUCCESSOR_COSTS.get(cell.base, 0.0)
    plan = PLAN_COST + H * S * A * VALUE_COST * factor
    return len(cell.seeds) * (cell.episodes * (1 + H * STEP_COST) + plans * plan)


class SweepWork:
    """Estimate of the work of a sweep, from which the fraction that is done is computed.

    The expected computing times of cells are corrected by the times that finished cells took.

    Parameters
    ----------
    cells : Sequence[Cell]
        Cells to compute.
    shapes : Mapping[str, Shape]
        Map from the id of a setting to the shape of its world.
    """

    def __init__(self, cells: Sequence[Cell], shapes: Mapping[str, Shape]) -> None:
        self.expected = {cell.id: expected_cost(cell, shapes[cell.setting]) for cell in cells}
        """Map from the id of a cell to its expected computing time, in arbitrary units."""
        self._kinds = {cell.id: (cell.world, cell.base_label, cell.updater) for cell in cells}
        self._finished: set[str] = set()
        self._ratios: dict[tuple[str, ...], list[float]] = {}  # measured to expected, by kind

    def finish(self, id: str, seconds: float) -> None:
        """Record that the cell with the id `id` is finished, and took `seconds` seconds."""
        self._finished.add(id)
        self._ratios.setdefault(self._kinds[id], []).append(seconds / self.expected[id])

    def share(self, running: Mapping[str, float]) -> float:
        """Return the fraction of the work that is done, in [0, 1].

        `running` maps the id of each running cell to the fraction of the cell that is done. The
        expected time of a cell is multiplied by a median ratio of measured to expected time. The
        median is over the finished cells with the same world, base and updater or, if these are
        fewer than `MIN_CELLS`, over all finished cells. The median is hardly affected by the time
        of compilation, which is part of the first cells.
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
