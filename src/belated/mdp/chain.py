"""Stochastic chain (Osband and Van Roy 2017, Figure 7), as used by Howson et al. (2023)."""

from typing import Final, Literal

import numpy as np

from belated.check import check_integer
from belated.episode import Shape
from belated.mdp.model import MDP

LEFT: Final = 0
RIGHT: Final = 1


def chain(
    S: int,
    *,
    reward_on: Literal["state", "state_right"] = "state",
    horizon: int | None = None,
) -> MDP:
    """Return the chain of `S` states, in which only the last state pays a reward.

    Action `left` (0) moves one state back. Action `right` (1) moves one state forward with
    probability 1 - 1/S and one state back otherwise. A move beyond either end stays in place.
    An episode starts in the first state. Unlike in Osband and Van Roy, rewards have no noise.

    Parameters
    ----------
    S : int
        Number of states, at least 2.
    reward_on : {"state", "state_right"}
        Actions for which the last state pays 1: both actions ("state"), or only `right`
        ("state_right").
    horizon : int, optional
        Number of steps H of an episode; S if not given. If H = S, V*_1(s_1) =
        (1 - 1/S)^(S - 1) for both values of `reward_on`.

    Returns
    -------
    MDP
        World with S states and 2 actions.

    Examples
    --------
    >>> chain(30)
    MDP(states=30, actions=2, horizon=30, homogeneous, 90 successors)
    """
    check_integer("S", S, 2)
    if reward_on not in ("state", "state_right"):
        raise ValueError(f"reward_on must be 'state' or 'state_right', got {reward_on!r}.")
    shape = Shape(S, 2, S if horizon is None else horizon)
    slip = 1 / S
    entries = []
    for s in range(S):
        back, forward = max(s - 1, 0), min(s + 1, S - 1)
        entries += [(s, LEFT, back, 1.0), (s, RIGHT, forward, 1 - slip), (s, RIGHT, back, slip)]
    rewards = np.zeros((S, 2))
    rewards[S - 1, RIGHT] = 1.0
    rewards[S - 1, LEFT] = float(reward_on == "state")
    return MDP.sparse(shape, entries, rewards)
