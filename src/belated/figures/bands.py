"""Band: the regret of many runs as a mean and the central 95% of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from belated.episode import Floats, Ints
from belated.simulation.run import Run

TAIL = 0.025
"""What is left out at either end."""

FAR, ROOM = 2.0, 1.6
"""A line is far above the others from FAR times the next one on; ROOM is left above those."""


@dataclass(frozen=True, eq=False)
class Band:
    """Regret over seeds, at each checkpoint or each expected delay."""

    x: Ints | Floats
    mean: Floats
    low: Floats
    high: Floats


Panels = Mapping[str, Mapping[str, Band]]
"""What a figure shows: for each panel its lines, by the names that stand in the figure."""


def band(runs: Sequence[Run]) -> Band:
    """The band of runs that were kept at the same checkpoints."""
    if not runs:
        raise ValueError("runs is empty; a band needs at least one run.")
    episode = runs[0].episode
    for run in runs:
        if not np.array_equal(run.episode, episode):
            raise ValueError(
                f"The run of seed {run.seed} was kept at other episodes than that of seed "
                f"{runs[0].seed}; the runs of a band need the same episodes and the same every."
            )
    return band_of(episode, np.array([run.regret for run in runs]))


def band_of(x: Ints | Floats, regret: Floats) -> Band:
    """The band of a table with a row for each run and a column for each of `x`."""
    low, high = np.quantile(regret, [TAIL, 1 - TAIL], axis=0)
    return Band(x, regret.mean(axis=0), low, high)


def ceiling(panels: Panels) -> float | None:
    """Where to cut the axis so that lines far above the rest do not squash it; None for nowhere.

    A line may be cut off only if most lines are kept.
    """
    tops: dict[str, float] = {}
    for lines in panels.values():
        for name, found in lines.items():
            tops[name] = max(tops.get(name, 0.0), float(found.high.max()))
    ordered = sorted(tops.values())
    for kept, (lower, upper) in enumerate(pairwise(ordered), start=1):
        if upper > FAR * lower > 0 and 2 * kept > len(ordered):
            return ROOM * lower
    return None


def names_of(panels: Panels, order: Sequence[str]) -> list[str]:
    """The lines of all panels, each once: those of `order` first."""
    names = dict.fromkeys([*order, *(name for lines in panels.values() for name in lines)])
    if not any(panels.values()):
        raise ValueError("panels is empty; a figure needs at least one line.")
    return list(names)
