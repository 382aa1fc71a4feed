"""Reports of the regret of a run at its checkpoints, while the run continues."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from belated.episode import Floats, Ints


@dataclass(frozen=True)
class RunSoFar:
    """A run at one of its checkpoints, as passed to `on_checkpoint`."""

    seed: int
    """Seed of the run."""
    episodes: int
    """Number of episodes K of the whole run."""
    episode: int
    """Checkpoint: number of the episode after which the regret is reported."""
    regret: float
    """Cumulative regret after the checkpoint; the same number as in `Run.regret`."""


OnCheckpoint = Callable[[RunSoFar], object]
"""Function that is called with a `RunSoFar` for each checkpoint. An exception that it raises stops
the run."""


def check_callback(on_checkpoint: object) -> None:
    """Raise TypeError if `on_checkpoint` is not a function."""
    if not callable(on_checkpoint):
        raise TypeError(f"on_checkpoint must be a function of a RunSoFar, got {on_checkpoint!r}.")


class CheckpointReporter:
    """Reporter that calls a function once for each checkpoint, in order, as episodes are played.

    Parameters
    ----------
    on_checkpoint : callable
        Function to call with a `RunSoFar`.
    seed, episodes : int
        Seed and number of episodes of the run.
    at : Ints
        Checkpoints, in increasing order.
    """

    def __init__(self, on_checkpoint: OnCheckpoint, *, seed: int, episodes: int, at: Ints) -> None:
        check_callback(on_checkpoint)
        self._on_checkpoint = on_checkpoint
        self._seed = seed
        self._episodes = episodes
        self._at = at
        self._played = 0
        self._regret = 0.0

    def report(self, gaps: Floats) -> None:
        """Add `gaps`, the regret of each of the next episodes, and report their checkpoints."""
        first = self._played
        self._played += gaps.size
        totals = np.add.accumulate(np.concatenate(([self._regret], gaps)))
        self._regret = float(totals[-1])
        for episode in self._at[(self._at > first) & (self._at <= self._played)].tolist():
            regret = float(totals[episode - first])
            self._on_checkpoint(RunSoFar(self._seed, self._episodes, episode, regret))
