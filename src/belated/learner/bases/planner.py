"""Planner, the protocol of a base algorithm written in plain Python, and Plan, its result."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from belated.episode import Floats, Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """Policy, and the optimistic values with respect to which the policy is greedy."""

    policy: NDArray[np.int32]
    """Action for each step and state, of shape (H, S)."""
    q: Floats
    """Values Q_h(s, a) of the actions, of shape (H, S, A)."""
    v: Floats
    """Values V~_h(s) of the states, of shape (H + 1, S); the last row is zero."""


@runtime_checkable
class Planner(Protocol):
    """Protocol of a base algorithm written in plain Python, with dense arrays as its input.

    For a problem with terminal states or forbidden actions, `plan` must also accept the keyword
    `shape`, a `Shape` that holds them.
    """

    def plan(self, visits: Ints, transitions: Ints, rewards: Floats, episodes: int) -> Plan:
        """Return the plan for given counts and rewards.

        Parameters
        ----------
        visits : Ints
            Counts N' of shape (stages, S, A). There is one stage if counts are pooled; otherwise
            there are H.
        transitions : Ints
            Counts M' of shape (stages, S, A, S).
        rewards : Floats
            Mean rewards, or their estimates if they are unknown, of shape (H, S, A).
        episodes : int
            Number of episodes K.

        Returns
        -------
        Plan
            The policy and its values.
        """
        ...
