"""Conformance suite for a world."""

import math
from collections.abc import Collection
from typing import Final

import numpy as np

from belated.checks.samples import require_equal_runs
from belated.checks.suite import Check, by_name, require, select_checks
from belated.delays.laws import geometric
from belated.episode import Policy
from belated.exact.values import optimal_actions, optimal_table, optimal_value, policy_value
from belated.learner.bases.ucbvi_ch import UCBVI_CH
from belated.learner.updaters import Active
from belated.mdp.model import MDP, PROBABILITY_TOLERANCE
from belated.mdp.play import play
from belated.simulation.simulation import Simulation

PLAYED_STEPS: Final = 8000
"""Approximate number of steps that are simulated in a check, in 20 to 400 episodes."""


def world_checks(world: MDP, *, without: Collection[str] = ()) -> list[Check]:
    """Return the checks of a world, to be called one by one.

    Parameters
    ----------
    world : MDP
        World to check.
    without : collection of str
        Names of checks to skip.

    Returns
    -------
    list of Check
        The checks.

    Raises
    ------
    TypeError
        If `world` is not an MDP.
    ValueError
        If `without` contains an unknown name.

    Examples
    --------
    >>> from belated.mdp.classics import chain
    >>> [check.name for check in world_checks(chain(3))]
    ['has_attainable_value', 'matches_value', 'engines_agree']
    """
    if not isinstance(world, MDP):
        raise TypeError(f"world must be an MDP, got {world!r}.")
    return select_checks(CHECKS, without, (world,))


def check_world(world: MDP, *, without: Collection[str] = ()) -> None:
    """Run the checks of `world`; raise AssertionError at the first failure.

    `without` contains the names of checks to skip.
    """
    for check in world_checks(world, without=without):
        check()


def has_attainable_value(world: MDP) -> None:
    """Check that V* of `world` lies in a possible range and is attained by a policy.

    V*_h(s) must lie between 0 and the number of steps that remain at step h. The greedy policy must
    have the optimal value.
    """
    v = optimal_table(world)
    left = np.arange(world.shape.horizon, -1, -1.0)[:, None]
    for h, s in np.argwhere(~((v >= 0) & (v <= left + PROBABILITY_TOLERANCE)))[:1]:
        raise AssertionError(
            f"The optimal value of state {s} at step {h} must lie in 0 .. {left[h, 0]:g}, "
            f"got {v[h, s]}."
        )
    best, greedy = optimal_value(world), policy_value(world, optimal_policy(world))
    require(
        math.isclose(best, greedy, rel_tol=0, abs_tol=1e-6),
        f"The optimal value is {best}, but the value of the greedy policy is {greedy}.",
    )


def optimal_policy(world: MDP) -> Policy:
    """Return an optimal policy of `world`; ties go to the lowest action."""
    return Policy(optimal_actions(world).argmax(axis=2).astype(np.int32))


def matches_value(world: MDP) -> None:
    """Check that the mean return of simulated episodes of `world` agrees with the exact value.

    Episodes of an optimal policy and of a uniformly random policy are simulated.
    """
    available = world.shape.available
    uniform = Policy(available.argmax(axis=2).astype(np.int32), available.copy())
    count = max(20, min(400, PLAYED_STEPS // world.shape.horizon))
    for policy in (uniform, optimal_policy(world)):
        played = (play(world, policy, seed=0, episode=k) for k in range(1, count + 1))
        returns = np.array([np.sum(np.asarray(episode.rewards)) for episode in played])
        value, error = policy_value(world, policy), returns.std() / math.sqrt(returns.size)
        # rewards with a probability below about 1/1000 may not have been observed
        rare = 7 * world.shape.horizon / returns.size
        require(
            abs(returns.mean() - value) <= 5 * error + rare,
            f"The value of a policy is {value:.6g}, but {returns.size} episodes have a mean return "
            f"of {returns.mean():.6g} with standard error {error:.2g}.",
        )


def engines_agree(world: MDP) -> None:
    """Check that runs in `world` are bit-identical with every engine and planning mode."""
    episodes = max(5, min(40, 100_000 // (world.ptr.size * world.shape.horizon)))
    base, law = UCBVI_CH(scale=0.01), geometric(3)
    setting = Simulation(world=world, base=base, updater=Active(), delay=law, episodes=episodes)
    require_equal_runs(repr(world), setting)


CHECKS: Final = by_name(
    has_attainable_value,
    matches_value,
    engines_agree,
)
