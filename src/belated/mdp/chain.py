"""The stochastic chain (Osband and Van Roy 2017, Figure 7), as in Howson et al. (2023)."""

from typing import Final, Literal

import numpy as np

from belated.episode import Shape, check_integer
from belated.mdp.model import MDP

LEFT: Final = 0
RIGHT: Final = 1


def chain(
    S: int,
    *,
    reward_on: Literal["state", "state_right"] = "state",
    horizon: int | None = None,
) -> MDP:
    """S states in a row, from the first of which only S - 1 successes in a row earn anything.

    `left` goes back one state; `right` goes on with probability 1 - 1/S and back otherwise; both
    ends hold. The last state pays 1, for either action or ("state_right") only for `right`. The
    horizon is S unless given; then V*_1(s_1) = (1 - 1/S)^(S - 1) for either reward. Deviation
    from Osband and Van Roy: rewards carry no noise.

    >>> chain(30)
    MDP(states=30, actions=2, horizon=30, homogeneous, 90 successors)
    """
    check_integer("S", S, 2)
    if reward_on not in ("state", "state_right"):
        raise ValueError(f"reward_on is {reward_on!r}; it must be 'state' or 'state_right'.")
    shape = Shape(S, 2, S if horizon is None else horizon)
    slip = 1 / S
    entries = []
    for s in range(S):
        back, on = max(s - 1, 0), min(s + 1, S - 1)
        entries += [(s, LEFT, back, 1.0), (s, RIGHT, on, 1 - slip), (s, RIGHT, back, slip)]
    rewards = np.zeros((S, 2))
    rewards[S - 1, RIGHT] = 1.0
    rewards[S - 1, LEFT] = float(reward_on == "state")
    return MDP.sparse(shape, entries, rewards)
