"""Band: the regret of many runs as a mean and the central 95% of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from belated.episode import Floats, Ints
from belated.simulation.run import Run

TAIL = 0.025
"""What is left out at either end."""


@dataclass(frozen=True, eq=False)
class Band:
    """Cumulative regret over seeds, at each checkpoint."""

    episode: Ints
    mean: Floats
    low: Floats
    high: Floats


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
    regret = np.array([run.regret for run in runs])
    low, high = np.quantile(regret, [TAIL, 1 - TAIL], axis=0)
    return Band(episode, regret.mean(axis=0), low, high)
