"""Bandits: worlds with one state and one step, in which an episode is the choice of an arm."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from belated.mdp.model import MDP, Draws


def bandit(means: Sequence[float] | NDArray[np.float64], *, rewards: Draws = "bernoulli") -> MDP:
    """Return a multi-armed bandit: a world with one state, one step and one action for each arm.

    An episode is one pull of an arm. If the best mean reward is m, an episode in which arm a is
    pulled adds m - means[a] to the regret.

    Parameters
    ----------
    means : sequence of float
        Mean reward of each arm, in [0, 1].
    rewards : {"bernoulli", "beta", "deterministic"}
        Distribution of the reward of a pull: "bernoulli" is 0 or 1, "beta" is spread over [0, 1],
        and "deterministic" is always the mean.

    Returns
    -------
    MDP
        World with 1 state, `len(means)` actions and horizon 1.

    Raises
    ------
    ValueError
        If `means` is empty or contains a number outside [0, 1].

    Examples
    --------
    >>> from belated import optimal_value
    >>> world = bandit([0.4, 0.5, 0.6])
    >>> world
    MDP(states=1, actions=3, horizon=1, homogeneous, 3 successors)
    >>> optimal_value(world)
    0.6
    """
    values = check_means(means)
    return MDP.dense(np.ones((1, values.size, 1)), values[None], horizon=1, reward_draws=rewards)


def check_means(means: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean rewards of the arms of a bandit as an array.

    Raise TypeError if `means` is not a list of numbers, and ValueError if it is empty or contains a
    number outside [0, 1].
    """
    try:
        values = np.asarray(means, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"means must be a list of numbers, one per arm, got {means!r}.") from None
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"means must be a list of at least one number, got {means!r}.")
    for value in values[~((values >= 0) & (values <= 1))][:1]:
        raise ValueError(f"means must lie in [0, 1], got {value}.")
    return values


def parse_bandit(name: str) -> tuple[float, ...] | None:
    """Return the means in the name of a bandit, such as "bandit-0.4-0.6"; None for other names."""
    match = re.fullmatch(r"bandit((?:-[0-9]+(?:\.[0-9]+)?)+)", name)
    return match and tuple(float(mean) for mean in match[1].split("-")[1:])
