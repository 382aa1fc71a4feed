"""Run: what one simulated run left behind."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from belated.episode import Floats, Ints


@dataclass(frozen=True, eq=False)
class Run:
    """Exact regret and a few counts of one run."""

    seed: int
    episodes: int
    episode: Ints
    """The checkpoints, in episodes."""
    regret: Floats
    """Cumulative regret after each checkpoint."""
    updates: int
    """Plans made after the first one, which is made of no data."""
    epochs: int
    """Plans made, the first one included."""
    max_missing: int
    """max_k S_k: the most episodes that were ever in flight."""
    optimism_broken: int
    """Episodes in which V~_1(s_1) < V*_1(s_1), beyond rounding (1e-9)."""
    instances: int = 1
    """Copies of the base: one, except with MultiInstance."""
    last_explored: int = 0
    """The last episode with a step that explicit exploration drew; 0 for none."""
    longest_delay: float = 0.0
    """The largest delay that was drawn; inf if an episode never comes back."""
    missing: int = 0
    """Episodes in flight at the end, the last one among them."""
    mean_delay: float = 0.0
    """As a learner observed it by then: those in flight count as late as they were."""
    psi: float = 0.0
    """What S_k stays below with high probability, if the mean delay is as observed (Lemma 1)."""
    in_flight: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)
    """(stages, S, A): N'' / N at the end, the share of the visits to a triple that was not back."""
    alpha: Floats | None = field(default=None, repr=False)
    """The alpha in force at each checkpoint, under Lazy("auto")."""
    policies: NDArray[np.int32] | None = field(default=None, repr=False)
    """(K, H, S) the policy of every episode, -1 where it explores; only if it was asked for."""

    @property
    def total_regret(self) -> float:
        """Cumulative regret at the end."""
        return float(self.regret[-1])

    def __repr__(self) -> str:
        return (
            f"Run(seed={self.seed}, episodes={self.episodes}, "
            f"total_regret={self.total_regret:.6g}, updates={self.updates}, "
            f"max_missing={self.max_missing}, optimism_broken={self.optimism_broken})"
        )


def checkpoints(episodes: int, every: int) -> Ints:
    """Every `every`-th episode and the last.

    >>> checkpoints(10, 4)
    array([ 4,  8, 10])
    """
    marks = np.arange(every, episodes + 1, every, dtype=np.int64)
    return marks if marks.size and marks[-1] == episodes else np.append(marks, episodes)
