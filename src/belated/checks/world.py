"""Conformance suite for a world."""

import math
from collections.abc import Collection
from itertools import product
from typing import Final

import numpy as np

from belated.checks.engines import require_equal_runs
from belated.checks.suite import Check, by_name, require, run_checks, select_checks
from belated.delays.laws import geometric
from belated.episode import Episode, Floats, Ints, Policy
from belated.exact.values import optimal_actions, optimal_table, optimal_value, policy_value
from belated.learner.bases.ucbvi_ch import UCBVI_CH
from belated.learner.updaters import Active
from belated.mdp.model import MDP, PROBABILITY_TOLERANCE
from belated.mdp.play import play
from belated.simulation.setting import Setting

PLAYED_STEPS: Final = 8000
"""Approximate number of steps that are simulated in a check."""


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
    >>> from belated.mdp.chain import chain
    >>> [check.name for check in world_checks(chain(3))][:3]
    ['has_valid_transitions', 'has_valid_rewards', 'has_valid_start']
    """
    if not isinstance(world, MDP):
        raise TypeError(f"world must be an MDP, got {world!r}.")
    return select_checks(CHECKS, without, world)


def check_world(world: MDP, *, without: Collection[str] = ()) -> None:
    """Run the checks of `world`; raise AssertionError at the first failure.

    `without` contains the names of checks to skip.
    """
    run_checks(world_checks(world, without=without))


def has_valid_transitions(world: MDP) -> None:
    """Check that transition probabilities of `world` are valid for each (stage, state, action).

    The probabilities must be at least 0, sum to 1 and match the stored cumulative sums. Successors
    must be in increasing order. A terminal state must lead to itself.
    """
    require_valid_indices(world)
    H, S, A = world.shape.table
    for row in suspicious_rows(world):
        block = slice(world.ptr[row], world.ptr[row + 1])
        where = f"stage {row // (S * A)}, state {row // A % S}, action {row % A}"
        require(
            (np.diff(world.succ[block]) > 0).all(),
            f"The successors of {where} must be in increasing order, got {world.succ[block]}.",
        )
        require_distribution(f"The probabilities of {where}", world.prob[block], world.cum[block])
    steps = range(1 if world.homogeneous else H)
    for h, s, a in product(steps, world.shape.terminal, range(A)):
        successors = world.successors(h, s, a)[0].tolist()
        require(
            successors == [s],
            f"Action {a} in the terminal state {s} must lead back to it, got {successors}.",
        )


def suspicious_rows(world: MDP) -> Ints:
    """Return the indices of the rows of `world` whose transitions may be invalid.

    A row is a (stage, state, action). It is selected if it has a negative or NaN probability, if
    its successors do not increase, or if its stored cumulative sums do not match its probabilities
    or do not end with 1. This fast vectorized test precedes an exact check of the selected rows.
    """
    size, first = np.diff(world.ptr), world.ptr[:-1]
    rows = np.repeat(np.arange(size.size), size)
    total = np.cumsum(world.prob)
    within = total - np.repeat(total[first] - world.prob[first], size)
    suspicious = ~((world.prob >= 0) & (abs(within - world.cum) <= PROBABILITY_TOLERANCE))
    suspicious[1:] |= (rows[1:] == rows[:-1]) & (np.diff(world.succ) <= 0)
    suspicious[world.ptr[1:] - 1] |= world.cum[world.ptr[1:] - 1] != 1
    return np.unique(rows[suspicious])


def require_valid_indices(world: MDP) -> None:
    """Raise AssertionError if an array of `world` has a wrong size or an index out of range.

    This check comes first, because compiled code does not check bounds.
    """
    H, S, A = world.shape.table
    require(
        world.ptr.size - 1 in (S * A, H * S * A),
        f"ptr must have S * A + 1 or H * S * A + 1 entries, got {world.ptr.size}.",
    )
    require(
        world.ptr[0] == 0
        and (np.diff(world.ptr) > 0).all()
        and world.ptr[-1] == world.succ.size == world.prob.size == world.cum.size,
        f"ptr must increase strictly from 0 to {world.succ.size}, the number of successors, so "
        "that every row has a successor; succ, prob and cum must have the same length.",
    )
    require(
        ((world.succ >= 0) & (world.succ < S)).all(),
        f"succ must hold states 0 .. {S - 1}, got {world.succ.max()}.",
    )
    require(
        world.rewards.shape in ((1, S, A), (H, S, A)),
        f"rewards must have shape (1, S, A) or (H, S, A), got {world.rewards.shape}.",
    )
    require(
        world.start.shape == world.start_cum.shape == (S,),
        f"start must have a probability for each of {S} states, got shape {world.start.shape}.",
    )


def require_distribution(label: str, probabilities: Floats, cum: Floats) -> None:
    """Raise AssertionError unless probabilities sum to 1 and match their cumulative sums.

    Parameters
    ----------
    label : str
        Name of the probabilities in messages.
    probabilities : array of float64
        Probabilities to check; each must be at least 0.
    cum : array of float64
        Cumulative sums of the probabilities, as stored in the world. The last must be exactly 1.
    """
    require(
        (probabilities >= 0).all() and abs(probabilities.sum() - 1) <= PROBABILITY_TOLERANCE,
        f"{label} must be at least 0 and sum to 1, got {probabilities}.",
    )
    require(
        cum[-1] == 1.0 and np.allclose(cum, np.cumsum(probabilities), rtol=0, atol=1e-8),
        f"The cumulative sums of {label[0].lower()}{label[1:]} must be "
        f"{np.cumsum(probabilities)}, got {cum}.",
    )


def has_valid_rewards(world: MDP) -> None:
    """Check that all mean rewards of `world` lie in [0, 1], and are 0 in terminal states."""
    require_valid_indices(world)
    for h, s, a in np.argwhere(~((world.rewards >= 0) & (world.rewards <= 1)))[:1]:
        raise AssertionError(
            f"The reward of stage {h}, state {s}, action {a} must lie in [0, 1], "
            f"got {world.rewards[h, s, a]}."
        )
    for s in world.shape.terminal:
        reward = world.rewards[:, s].max()
        require(reward == 0, f"The rewards of the terminal state {s} must be 0, got {reward}.")


def has_valid_start(world: MDP) -> None:
    """Check that the probabilities of the first state of `world` sum to 1.

    No terminal state may be the first.
    """
    require_valid_indices(world)
    require_distribution("The probabilities of the first state", world.start, world.start_cum)
    for s in world.shape.terminal:
        require(
            world.start[s] == 0,
            f"The terminal state {s} must not be the first state; it has probability "
            f"{world.start[s]}.",
        )


def has_attainable_value(world: MDP) -> None:
    """Check that V* of `world` lies in a possible range and is attained by a policy.

    V*_h(s) must lie between 0 and the number of steps that remain at step h. The greedy policy must
    have the optimal value.
    """
    require_valid_indices(world)
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


def uniform_policy(world: MDP) -> Policy:
    """Return the policy for `world` that draws every allowed action with equal probability."""
    available = world.shape.available
    return Policy(available.argmax(axis=2).astype(np.int32), available.copy())


def play_episodes(world: MDP, policy: Policy) -> list[Episode]:
    """Simulate 20 to 400 episodes of `policy` in `world` and return them.

    The number of episodes is chosen such that they have about PLAYED_STEPS steps in total.
    """
    count = max(20, min(400, PLAYED_STEPS // world.shape.horizon))
    return [play(world, policy, seed=0, episode=k) for k in range(1, count + 1)]


def plays_valid_episodes(world: MDP) -> None:
    """Check that simulated episodes of `world` are possible.

    The first state and each transition must have positive probability, and rewards must lie in
    [0, 1].
    """
    require_valid_indices(world)
    for episode in play_episodes(world, uniform_policy(world)):
        try:
            episode.check(world.shape)
        except ValueError as error:
            raise AssertionError(str(error)) from error
        first = int(episode.states[0])
        require(
            world.start[first] > 0,
            f"An episode starts in state {first}, which has probability 0.",
        )
        for h, (s, a, y) in enumerate(
            zip(episode.states[:-1], episode.actions, episode.states[1:], strict=True)
        ):
            possible, probabilities = world.successors(h, s, a)
            require(
                y in possible[probabilities > 0],
                f"Action {a} in state {s} at step {h} leads to state {y}, which has probability 0.",
            )


def is_reproducible(world: MDP) -> None:
    """Check that an episode of `world` is the same when it is simulated again.

    The seed and the number of an episode must determine its states, actions and rewards.
    """
    require_valid_indices(world)
    first, second = (play_episodes(world, uniform_policy(world)) for _ in range(2))
    for episode, repeated in zip(first, second, strict=True):
        require(
            all(
                np.array_equal(getattr(episode, name), getattr(repeated, name))
                for name in ("states", "actions", "rewards")
            ),
            f"Episode {episode.id} is different when it is played again; a world must not change.",
        )


def matches_value(world: MDP) -> None:
    """Check that the mean return of simulated episodes of `world` agrees with the exact value.

    Episodes of an optimal policy and of a uniformly random policy are simulated.
    """
    require_valid_indices(world)
    for policy in (uniform_policy(world), optimal_policy(world)):
        returns = np.array(
            [np.sum(np.asarray(episode.rewards)) for episode in play_episodes(world, policy)]
        )
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
    require_valid_indices(world)
    episodes = max(5, min(40, 100_000 // (world.ptr.size * world.shape.horizon)))
    base, law = UCBVI_CH(scale=0.01), geometric(3)
    setting = Setting(world=world, base=base, updater=Active(), delay=law, episodes=episodes)
    require_equal_runs(repr(world), setting)


CHECKS: Final = by_name(
    has_valid_transitions,
    has_valid_rewards,
    has_valid_start,
    has_attainable_value,
    plays_valid_episodes,
    is_reproducible,
    matches_value,
    engines_agree,
)
