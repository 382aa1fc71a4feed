"""Planner, the protocol of a base algorithm written in plain Python, and Plan, its result."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from belated.episode import Floats, Ints, Shape


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


def check_plan(plan: Plan, shape: Shape) -> None:
    """Raise ValueError if the `plan` of a planner does not fit a problem of size `shape`.

    Actions must be in range and allowed, and the value of a terminal state must be 0.
    """
    H, S, A = shape.table
    actions, v = np.asarray(plan.policy), np.asarray(plan.v)
    for name, array, size in (("policy", actions, (H, S)), ("v", v, (H + 1, S))):
        if array.shape != size:
            raise ValueError(f"{name} of a plan must have shape {size}, got {array.shape}.")
    for action in actions[(actions < 0) | (actions >= A)][:1]:
        raise ValueError(f"Each planned action must lie in 0 .. {A - 1}, got {action}.")
    shape.check_actions("Each planned action", actions)
    for value in v[:, shape.is_terminal][v[:, shape.is_terminal] != 0][:1]:
        raise ValueError(f"v of a plan must be 0 in terminal states, got {value}.")
