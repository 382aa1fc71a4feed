"""Worlds from Gymnasium environments that have a table of transitions.

The table is an attribute `P` of the environment, as in FrozenLake, CliffWalking and Taxi:
`P[state][action]` is a list of (probability, next state, reward, terminated). The horizon of the
world replaces the time limit of the environment, which is ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_integer
from belated.episode import Bools, Floats, Ints, Shape
from belated.extras import missing_extra
from belated.mdp.model import MDP, start_distribution
from belated.reward_map import Affine

START_CHECK_RESETS: Final = 32
"""Number of resets in the test whether an environment always starts in the same state."""


def from_gymnasium(
    env_or_id: Any, *, horizon: int, start: int | ArrayLike | None = None, **options: Any
) -> MDP:
    """Return the world of a Gymnasium environment that has a table of transitions `P`.

    A state in which the environment terminates is a terminal state of the world. If an episode may
    also visit that state without terminating, terminating transitions lead instead to an additional
    terminal state, which is the last state of the world.

    A reward that depends on the successor is replaced by its mean over successors. If any reward
    lies outside [0, 1], all rewards, including the reward 0 after termination, are mapped to
    [0, 1]. The attribute `reward_map` of the world holds this map; a value V of the world is
    `world.reward_map.original(V, horizon)` in the units of the environment. If the map shifts the
    reward 0, as it does if rewards are negative, states in which the environment terminates are not
    terminal but absorbing, and pay the mapped 0 in every step.

    Parameters
    ----------
    env_or_id : gymnasium.Env or str
        Environment, or an id for `gymnasium.make`.
    horizon : int
        Number of steps of an episode, at least 1.
    start : int or array_like, optional
        First state of every episode, or the probability of each state to be the first. The
        default is the environment's attribute `initial_state_distrib`; without that attribute,
        it is the state that every reset returns.
    **options
        Options of `gymnasium.make`; allowed only if `env_or_id` is an id.

    Returns
    -------
    MDP
        World with the states and actions of the table, and the additional state if needed.

    Raises
    ------
    ImportError
        If gymnasium is not installed (extra `belated[gym]`).
    ValueError
        If the environment has no table of transitions, the table is malformed, or resets return
        different first states whose distribution is unknown.

    Examples
    --------
    >>> lake = from_gymnasium("FrozenLake-v1", horizon=20)
    >>> lake
    MDP(states=16, actions=4, horizon=20, terminal=(5, 7, 11, 12, 15), homogeneous, 148 successors)
    """
    check_integer("horizon", horizon, 1)
    env = _make_environment(env_or_id, options)
    try:
        outcomes = _read_outcomes(env)
        first = _read_start(env) if start is None else start
    finally:
        if isinstance(env_or_id, str):
            env.close()
    return _build_world(outcomes, first, horizon)


@dataclass(frozen=True)
class Outcomes:
    """Table of transitions as columns, with one entry per possible outcome of each (s, a)."""

    states: int  # number of states
    actions: int  # number of actions
    s: Ints  # state before the step
    a: Ints  # action
    p: Floats  # probability of the outcome
    y: Ints  # successor
    reward: Floats  # reward, in original units
    terminated: Bools  # whether the episode ends


def _build_world(outcomes: Outcomes, start: int | ArrayLike, horizon: int) -> MDP:
    """Return the world with these `outcomes`, first states `start` and `horizon`.

    `start` is the first state of every episode, or the probability of each state to be the first.
    If a terminating transition leads to a state that an episode may also visit without terminating,
    the world has an additional state for the end, and the transition leads to this state instead.
    """
    S, A = outcomes.states, outcomes.actions
    first, _ = start_distribution(S, start)
    y, absorbing = _end_states(outcomes, first)
    states = absorbing.size

    # Each absorbing state is its own successor, with the reward 0 in original units.
    moves, ends = ~absorbing[outcomes.s], np.flatnonzero(absorbing)
    loops, played = np.repeat(ends, A), np.tile(np.arange(A), ends.size)
    s = np.append(outcomes.s[moves], loops)
    a = np.append(outcomes.a[moves], played)
    y = np.append(y[moves], loops)
    p = np.append(outcomes.p[moves], np.ones(loops.size))
    reward = np.append(outcomes.reward[moves], np.zeros(loops.size))

    # Mean rewards in [0, 1].
    reward_map = Affine.onto(float(reward.min()), float(reward.max()))
    rewards = np.zeros((states, A))
    np.add.at(rewards, (s, a), p * reward_map.unit(reward))

    # Add up outcomes with the same successor.
    flat, inverse = np.unique((s * A + a) * states + y, return_inverse=True)
    world = MDP.sparse(
        Shape(states, A, horizon, terminal=ends.tolist() if reward_map.unit(0.0) == 0 else ()),
        (flat // (A * states), flat // states % A, flat % states, np.bincount(inverse, p)),
        np.clip(rewards, 0, 1),  # a mean may leave [0, 1] by rounding
        start=np.append(first, np.zeros(states - S)),
    )
    return replace(world, reward_map=reward_map)


def terminal_states(env: Any) -> list[int]:
    """Return the states of `env` that an episode visits only when it terminates.

    They are read from the table of transitions `P` and the attribute `initial_state_distrib`; the
    list is empty if the environment does not have both.
    """
    inner = getattr(env, "unwrapped", env)
    if not hasattr(inner, "P") or not hasattr(inner, "initial_state_distrib"):
        return []
    outcomes = _read_outcomes(env)
    first, _ = start_distribution(outcomes.states, _read_start(env))
    _, absorbing = _end_states(outcomes, first)
    return np.flatnonzero(absorbing[: outcomes.states]).tolist()


def _end_states(outcomes: Outcomes, start: Floats) -> tuple[Ints, Bools]:
    """Return the state to which each outcome leads in the world, and the states that end episodes.

    If a terminating outcome leads to a state that an episode can also visit before it terminates,
    the outcome leads in the world to an additional state instead. The additional state has the
    number S, the number of states of the environment, and exists only if it is needed.

    Parameters
    ----------
    outcomes : Outcomes
        Table of transitions of the environment.
    start : Floats
        (S) Probability of each state to be the first.

    Returns
    -------
    y : Ints
        Successor of each outcome in the world.
    ends : Bools
        Mask of the states in which episodes end, of length S, or S + 1 with the additional state.
    """
    S = outcomes.states
    live = _live_states(outcomes, start)
    y = np.where(outcomes.terminated & live[outcomes.y], S, outcomes.y)
    ends = np.zeros(S + int((y == S).any()), np.bool_)
    ends[y[outcomes.terminated]] = True
    return y, ends


def _live_states(outcomes: Outcomes, start: Floats) -> Bools:
    """Return a mask, of shape (S,), of the states that an episode can visit before it terminates.

    `start` is the probability of each state to be the first.
    """
    live = start > 0
    goes_on = ~outcomes.terminated
    while True:
        reached = outcomes.y[goes_on & live[outcomes.s]]
        if live[reached].all():
            return live
        live[reached] = True


def _make_environment(env_or_id: Any, options: dict[str, Any]) -> Any:
    """Return `env_or_id` if it is an environment; otherwise make the environment with that id.

    `options` are passed to `gymnasium.make`; they must be empty if an environment is given.
    """
    if isinstance(env_or_id, str):
        try:
            import gymnasium
        except ImportError:
            raise ImportError(missing_extra("from_gymnasium", "gymnasium", "gym")) from None
        return gymnasium.make(env_or_id, **options)
    if options:
        raise TypeError(
            "from_gymnasium takes options of the environment only together with an id, "
            f"got an environment and {', '.join(options)}; pass the options to gymnasium.make."
        )
    if not callable(getattr(env_or_id, "reset", None)):
        raise TypeError(f"env_or_id must be an environment or its id, got {env_or_id!r}.")
    return env_or_id


def _name(env: Any) -> str:
    """Return the id of the environment `env`, or the name of its class if it has no id."""
    spec = getattr(env, "spec", None)
    return type(getattr(env, "unwrapped", env)).__name__ if spec is None else str(spec.id)


def _read_outcomes(env: Any) -> Outcomes:
    """Return the table of transitions of the environment `env` as columns.

    A missing or malformed table raises ValueError.
    """
    table = getattr(getattr(env, "unwrapped", env), "P", None)
    if table is None:
        raise ValueError(
            f"{_name(env)} must have a table of transitions P to be read as a world; "
            "if its spaces are discrete, use bl.DelayedFeedback instead."
        )
    try:
        states, actions = len(table), len(table[0])
        rows = [
            (s, a, *outcome)
            for s in range(states)
            for a in range(actions)
            for outcome in table[s][a]
            if outcome[0] != 0
        ]
        if not rows or any(len(table[s]) != actions for s in range(states)):
            raise ValueError
        columns = np.array(rows, np.float64).reshape(len(rows), 6)
    except (KeyError, IndexError, TypeError, ValueError):
        kind = "a mapping" if isinstance(table, Mapping) else type(table).__name__
        raise ValueError(
            f"P[state][action] of {_name(env)} must list (probability, next state, reward, "
            f"terminated) for states and actions numbered from 0, got a P ({kind}) in a different "
            "format."
        ) from None
    s, a, p, y, reward, terminated = columns.T
    for at in np.flatnonzero(~((y >= 0) & (y < states) & (y == np.floor(y))))[:1]:
        raise ValueError(
            f"P of {_name(env)} must have next states in 0 .. {states - 1}, "
            f"got {y[at]:g} for state {s[at]:g}, action {a[at]:g}."
        )
    state, action, successor = columns.T[[0, 1, 3]].astype(np.int64)
    return Outcomes(states, actions, state, action, p, successor, reward, terminated != 0)


def _read_start(env: Any) -> int | Floats:
    """Return the distribution of the first state of the environment `env`, or a single state.

    The distribution is the attribute `initial_state_distrib` of the environment. Without that
    attribute, the environment is reset several times, and the result is the state that every reset
    returns. ValueError is raised if the resets return different states.
    """
    distribution = getattr(getattr(env, "unwrapped", env), "initial_state_distrib", None)
    if distribution is not None:
        return np.asarray(distribution, np.float64)
    seen = {int(env.reset(seed=seed)[0]) for seed in range(START_CHECK_RESETS)}
    if len(seen) > 1:
        raise ValueError(
            f"{_name(env)} starts in several states with unknown probabilities; "
            "pass start=, a distribution over its states, to from_gymnasium."
        )
    return seen.pop()
