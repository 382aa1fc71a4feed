"""Planner: a base algorithm as a plain Python object, and the plan it returns."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from belated.episode import Floats, Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy and the optimistic values it is greedy for."""

    policy: NDArray[np.int32]
    """(H, S): action for each step and state."""
    q: Floats
    """(H, S, A): values of actions."""
    v: Floats
    """(H + 1, S): values of states; the last row is zero."""


@runtime_checkable
class Planner(Protocol):
    """A base algorithm as a plain Python object: dense counts and rewards in, a plan out."""

    def plan(self, visits: Ints, transitions: Ints, rewards: Floats, episodes: int) -> Plan:
        """Return a plan.

        Parameters
        ----------
        visits : Ints
            N', (stages, S, A), with one stage if counts are pooled.
        transitions : Ints
            M', (stages, S, A, S).
        rewards : Floats
            (H, S, A).
        episodes : int
            Number of episodes K.

        Returns
        -------
        Plan
            Policy and values.
        """
        ...
