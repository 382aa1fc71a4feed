"""Simulation of single episodes, with random numbers determined by seed, episode and step."""

from typing import Any

import numpy as np

from belated.check import check_integer
from belated.episode import Episode, Floats, Policy, Shape
from belated.mdp.model import DRAWS, MDP, draw, draw_reward, mean_reward, row_of
from belated.randomness import EXPLORE, REWARD, START, TRANSITION, check_seed, uniform


def play(world: MDP, policy: Policy, *, seed: int, episode: int) -> Episode:
    """Simulate one episode of a policy in a world.

    Parameters
    ----------
    world : MDP
        World to simulate.
    policy : Policy
        Policy with an action for every step and state of the world.
    seed : int
        Seed of the run, in 0 .. 2**64 - 1.
    episode : int
        Number of the episode, at least 0. The random numbers of the episode depend only on
        `seed` and `episode`.

    Returns
    -------
    Episode
        Record of H + 1 states, H actions and H rewards, with `episode` as id. It is shorter if a
        terminal state is reached before the last step.

    Examples
    --------
    >>> from belated.mdp.classics import chain
    >>> left = Policy(np.zeros((5, 5), np.int32))
    >>> play(chain(5), left, seed=7, episode=1).states
    array([0, 0, 0, 0, 0, 0])
    """
    check_policy(world.shape, policy)
    check_integer("episode", episode, 0)
    key: Any = np.uint64(check_seed(seed))
    first = draw(world.start_cum, 0, world.shape.states, uniform(key, START, episode, 0))
    kind = DRAWS.index(world.reward_draws)
    states, actions, rewards = [int(first)], [], []
    for h in range(world.shape.horizon):
        s = states[h]
        if s in world.shape.terminal:
            break
        a = policy.action(h, s, uniform(key, EXPLORE, episode, h))
        mean = mean_reward(world.rewards, h, s, a)
        reward = draw_reward(kind, mean, uniform(key, REWARD, episode, h))
        row = row_of(world.ptr, world.rewards, h, s, a)
        u = uniform(key, TRANSITION, episode, h)
        at = draw(world.cum, world.ptr[row], world.ptr[row + 1], u)
        actions.append(a)
        rewards.append(float(reward))
        states.append(int(world.succ[at]))
    return Episode(episode, states, actions, rewards)


def check_policy(shape: Shape, policy: Policy) -> None:
    """Raise ValueError if `policy` cannot be played in a world with the given `shape`.

    The arrays of the policy must have the right shapes, its actions must be in range, and it must
    give no probability to an action that is not allowed.
    """
    H, S, A = shape.table
    for name, array, axes, size in (
        ("actions", policy.actions, "(H, S)", (H, S)),
        ("explore", policy.explore, "(H, S, A)", (H, S, A)),
    ):
        if array is not None and array.shape != size:
            raise ValueError(
                f"The policy's {name} must have shape {axes} = {size} in this world, "
                f"got {array.shape}."
            )
    for cell in np.flatnonzero((policy.actions < 0) | (policy.actions >= A))[:1]:
        h, s = divmod(int(cell), S)
        raise ValueError(
            f"The policy's action at step {h}, state {s} must be in 0 .. {A - 1}, "
            f"got {policy.actions[h, s]}."
        )
    if shape.allowed is not None:
        check_weights(shape, policy.probabilities(A))


def check_weights(shape: Shape, weights: Floats) -> None:
    """Raise ValueError if an action that is not allowed has a positive probability.

    `shape` is the shape of the world. `weights`, of shape (H, S, A), holds the probability of each
    action. Terminal states are not checked.
    """
    wrong = (weights > 0) & ~shape.available & ~shape.is_terminal[:, None]
    for h, s, a in np.argwhere(wrong)[:1].tolist():
        shape.check_action("The policy's action", h, s, a)
