"""Worlds of the literature: chain, RiverSwim, deep sea, Garnet and bandits.

- Chain: Osband and Van Roy 2017, Figure 7, as used by Howson et al. 2023.
- RiverSwim: Strehl and Littman 2008, with the parameters of Osband, Russo and Van Roy 2013.
- Deep sea: Osband et al. 2019, section 4, as in bsuite (Osband et al. 2020).
- Garnet: Archibald, McKinnon and Thomas 1995; Bhatnagar et al. 2009.
- A bandit is a world with one state and one step, in which an episode is the choice of an arm.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from belated.check import check_integer, check_numbers
from belated.episode import Shape
from belated.mdp.model import MDP, Draws
from belated.randomness import check_seed, uniform
from belated.reward_map import Affine

LEFT: Final = 0
RIGHT: Final = 1
"""Actions of the chain, RiverSwim and the deep sea."""

TOTAL_MOVE_COST: Final = 0.01
"""Total cost of an episode of the deep sea in which every step moves right, in original units."""

# Random streams that build a Garnet, distinct from the streams of its episodes.
SUCCESSOR_STREAM: Final = 16
PROBABILITY_STREAM: Final = 17
REWARD_STREAM: Final = 18


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


def riverswim(states: int = 6, *, horizon: int = 20) -> MDP:
    """Return the RiverSwim world, in which the large reward is at the upstream end of a river.

    Action `left` (0) always moves one state back. Action `right` (1) moves one state forward with
    probability 0.35, stays with probability 0.6 and moves one state back with probability 0.05.
    In the first state, `right` moves forward with probability 0.6 and stays with probability 0.4.
    In the last state, `right` stays with probability 0.6 and moves back with probability 0.4.

    `left` in the first state pays 5/1000, `right` in the last state pays 1, and every other
    (state, action) pays 0. An episode starts in the first state. In Strehl and Littman, the
    rewards are 5 and 10000 and the current is stronger.

    Parameters
    ----------
    states : int
        Number of states, at least 2.
    horizon : int
        Number of steps of an episode, at least 1.

    Returns
    -------
    MDP
        World with `states` states and 2 actions.

    Examples
    --------
    >>> riverswim()
    MDP(states=6, actions=2, horizon=20, homogeneous, 22 successors)
    """
    check_integer("states", states, 2)
    last = states - 1
    entries = [(0, RIGHT, 0, 0.4), (0, RIGHT, 1, 0.6)]
    entries += [(last, RIGHT, last, 0.6), (last, RIGHT, last - 1, 0.4)]
    entries += [(s, LEFT, max(s - 1, 0), 1.0) for s in range(states)]
    for s in range(1, last):
        entries += [(s, RIGHT, s + 1, 0.35), (s, RIGHT, s, 0.6), (s, RIGHT, s - 1, 0.05)]
    rewards = np.zeros((states, 2))
    rewards[0, LEFT] = 5 / 1000
    rewards[last, RIGHT] = 1.0
    return MDP.sparse(Shape(states, 2, horizon), entries, rewards)


def deep_sea(size: int, *, noisy: bool = False) -> MDP:
    """Return the deep sea of `size` columns, in which one path leads to the treasure.

    A diver descends one row per step through a grid of size x size cells and moves left (0) or
    right (1). Moving right in the last column pays the treasure, a reward of 1. The diver reaches
    that column in time only by moving right at every step. Each move to the right costs
    c = 0.01 / size.

    The step of the episode gives the row, so a state is a column: there are `size` states instead
    of the size * size states of the original, and transitions are the same in every row. For a
    learner with counts for each step, this is the original problem; with pooled counts the problem
    is easier.

    Rewards are mapped to [0, 1] by r -> (r + c) / (1 + c) at every step. `left` then pays
    c / (1 + c), `right` pays 0 and the treasure pays 1 / (1 + c). A sum G of the original rewards
    of an episode becomes (G + 0.01) / (1 + c), and V*_1(s_1) = 1 / (1 + c).

    There are two deviations from bsuite. Action 1 is `right` in every cell, whereas bsuite may
    swap the two actions. Rewards have no normal noise, which bsuite adds at both ends of the last
    row, because noisy rewards could lie outside [0, 1].

    Parameters
    ----------
    size : int
        Number of columns and of steps, at least 2.
    noisy : bool
        If True, `right` stays in the same column with probability 1 / size, and each reward is
        drawn as 0 or 1 with the mean given above. Then V*_1(s_1) =
        (p^(size - 1) + 0.01 p^size) / (1 + c) with p = 1 - 1 / size.

    Returns
    -------
    MDP
        World with `size` states, 2 actions and horizon `size`.

    Examples
    --------
    >>> deep_sea(10)
    MDP(states=10, actions=2, horizon=10, homogeneous, 20 successors)
    """
    check_integer("size", size, 2)
    slip = 1 / size if noisy else 0.0
    last = size - 1
    entries = [(s, LEFT, max(s - 1, 0), 1.0) for s in range(size)]
    for s in range(last):
        entries += [(s, RIGHT, s + 1, 1 - slip), (s, RIGHT, s, slip)]
    entries.append((last, RIGHT, last, 1.0))
    cost = TOTAL_MOVE_COST / size
    rewards = np.zeros((size, 2))
    rewards[:, LEFT] = cost / (1 + cost)
    rewards[last, RIGHT] = 1 / (1 + cost)
    draws: Draws = "bernoulli" if noisy else "deterministic"
    world = MDP.sparse(Shape(size, 2, size), entries, rewards, reward_draws=draws)
    return replace(world, reward_map=Affine(1 + cost, -cost))


def garnet(states: int, actions: int, *, horizon: int, branching: int, seed: int = 0) -> MDP:
    """Return a random world in which each (state, action) has `branching` successors.

    Successors are drawn without replacement. Their probabilities are the lengths of the
    intervals into which branching - 1 uniform points divide [0, 1]. Mean rewards are drawn
    uniformly from [0, 1], whereas Bhatnagar et al. draw them from a normal distribution. An
    episode starts in state 0. Equal arguments give the same world.

    Parameters
    ----------
    states : int
        Number of states, at least 1.
    actions : int
        Number of actions, at least 1.
    horizon : int
        Number of steps of an episode, at least 1.
    branching : int
        Number of successors of each (state, action), in 1 .. `states`.
    seed : int
        Seed of the random numbers, in 0 .. 2**64 - 1.

    Returns
    -------
    MDP
        World with `states` states and `actions` actions.

    Examples
    --------
    >>> garnet(20, 3, horizon=10, branching=4)
    MDP(states=20, actions=3, horizon=10, homogeneous, 240 successors)
    """
    shape = Shape(states, actions, horizon)
    check_integer("branching", branching, 1)
    if branching > states:
        raise ValueError(
            f"branching must be at most the number of states, {states}, got {branching}."
        )
    key: Any = np.uint64(check_seed(seed))
    entries = []
    rewards = np.zeros((states, actions))
    for row in range(states * actions):
        s, a = divmod(row, actions)
        cuts = sorted(uniform(key, PROBABILITY_STREAM, row, j) for j in range(branching - 1))
        lengths = np.diff([0.0, *cuts, 1.0])
        successors = draw_successors(key, row, states=states, branching=branching)
        entries += [(s, a, y, p) for y, p in zip(successors, lengths, strict=True)]
        rewards[s, a] = uniform(key, REWARD_STREAM, row, 0)
    return MDP.sparse(shape, entries, rewards)


def draw_successors(key: Any, row: int, *, states: int, branching: int) -> list[int]:
    """Draw `branching` different states; all subsets of this size are equally likely.

    The subset is drawn by Floyd's algorithm.

    Parameters
    ----------
    key : np.uint64
        Seed of the world.
    row : int
        Index of the (state, action); part of the key of the random numbers.
    states : int
        Number of states.
    branching : int
        Size of the subset.

    Returns
    -------
    list[int]
        The chosen states in ascending order.
    """
    chosen: set[int] = set()
    for j in range(states - branching, states):
        state = int(uniform(key, SUCCESSOR_STREAM, row, j) * (j + 1))
        chosen.add(j if state in chosen else state)
    return sorted(chosen)


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
    TypeError
        If `means` is not a list of numbers.
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
    values = check_numbers("means", means)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"means must be a list of at least one number, got {means!r}.")
    for value in values[~((values >= 0) & (values <= 1))][:1]:
        raise ValueError(f"means must lie in [0, 1], got {value}.")
    return MDP.dense(np.ones((1, values.size, 1)), values[None], horizon=1, reward_draws=rewards)


def parse_bandit(name: str) -> tuple[float, ...] | None:
    """Return the means in the name of a bandit, such as "bandit-0.4-0.6"; None for other names."""
    match = re.fullmatch(r"bandit((?:-[0-9]+(?:\.[0-9]+)?)+)", name)
    return match and tuple(float(mean) for mean in match[1].split("-")[1:])
