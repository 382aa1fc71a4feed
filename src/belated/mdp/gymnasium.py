"""Worlds from Gymnasium environments that have a table of transitions.

`P[state][action]` lists (probability, next state, reward, terminated), as in FrozenLake,
CliffWalking and Taxi. A time limit of the environment is ignored; the horizon takes its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from belated.arguments import check_integer
from belated.episode import Bools, Floats, Ints, Shape
from belated.mdp.model import MDP, start_distribution
from belated.mdp.rewards import Affine

START_CHECK_RESETS: Final = 32
"""Number of resets by which an environment is checked to start always in the same state."""


def from_gymnasium(
    env_or_id: Any, *, horizon: int, start: int | ArrayLike | None = None, **options: Any
) -> MDP:
    """Return the world of a Gymnasium environment that has a table of transitions `P`.

    A state in which the environment terminates is absorbing and pays 0 from then on. If an
    episode may also pass through that state, the terminating transition leads instead to an
    additional absorbing state, the last one.

    A reward that depends on the successor becomes its mean. If any reward lies outside [0, 1],
    all of them, and the 0 after termination, are mapped into it by `world.reward_map`, and
    V_original = world.reward_map.original(V, horizon).

    Parameters
    ----------
    env_or_id : gymnasium.Env or str
        Environment, or the id from which `gymnasium.make` makes it.
    horizon : int
        Steps of an episode, at least 1.
    start : int or array_like, optional
        First state, or the probability of each state. If not given, it is the environment's
        `initial_state_distrib`, or else the state that every reset returns.
    **options
        Options of `gymnasium.make`; only with an id.

    Returns
    -------
    MDP

    Raises
    ------
    ImportError
        If gymnasium is not installed (extra `belated[gym]`).
    ValueError
        If the environment has no table, the table is malformed, or the first state varies and
        has no known distribution.

    Examples
    --------
    >>> lake = from_gymnasium("FrozenLake-v1", horizon=20)
    >>> lake
    MDP(states=16, actions=4, horizon=20, homogeneous, 148 successors)
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
    """Table of transitions as columns, one entry for each possible outcome of each (s, a)."""

    states: int  # number of states
    actions: int  # number of actions
    s: Ints  # state before the step
    a: Ints  # action
    p: Floats  # probability of the outcome
    y: Ints  # successor
    reward: Floats  # reward, in original units
    terminated: Bools  # whether the episode ends


def _build_world(outcomes: Outcomes, start: int | ArrayLike, horizon: int) -> MDP:
    """Return the world of a table, with an additional state for the end where needed."""
    S, A = outcomes.states, outcomes.actions
    first, _ = start_distribution(S, start)
    # Terminating transitions into a state that is also passed through lead to state S instead.
    live = _live_states(outcomes, first)
    y = np.where(outcomes.terminated & live[outcomes.y], S, outcomes.y)
    states = S + int((y == S).any())
    absorbing = np.zeros(states, np.bool_)
    absorbing[y[outcomes.terminated]] = True

    # Mean rewards in [0, 1].
    moves = ~absorbing[outcomes.s]
    s, a, y = outcomes.s[moves], outcomes.a[moves], y[moves]
    p, reward = outcomes.p[moves], outcomes.reward[moves]
    paid = np.append(reward, 0.0) if absorbing.any() else reward
    reward_map = Affine.onto(float(paid.min()), float(paid.max()))
    rewards = np.zeros((states, A))
    np.add.at(rewards, (s, a), p * reward_map.unit(reward))
    rewards[absorbing] = reward_map.unit(0.0)

    # Outcomes with the same successor are added up; absorbing states are their own successors.
    flat, inverse = np.unique((s * A + a) * states + y, return_inverse=True)
    moving = (flat // (A * states), flat // states % A, flat % states, np.bincount(inverse, p))
    entries = zip(moving, _self_loops(np.flatnonzero(absorbing), A), strict=True)
    world = MDP.sparse(
        Shape(states, A, horizon),
        tuple(np.concatenate(column) for column in entries),
        np.clip(rewards, 0, 1),  # a mean may leave [0, 1] by rounding
        start=np.append(first, np.zeros(states - S)),
    )
    return replace(world, reward_map=reward_map)


def _self_loops(states: Ints, actions: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Return entries (s, a, y, p) that keep each of `states` in place under every action."""
    s = np.repeat(states, actions)
    return s, np.tile(np.arange(actions), states.size), s, np.ones(s.size)


def _live_states(outcomes: Outcomes, start: Floats) -> Bools:
    """Return whether each state can occur in an episode that has not terminated, shape (S,)."""
    live = start > 0
    goes_on = ~outcomes.terminated
    while True:
        reached = outcomes.y[goes_on & live[outcomes.s]]
        if live[reached].all():
            return live
        live[reached] = True


def _make_environment(env_or_id: Any, options: dict[str, Any]) -> Any:
    """Return the environment itself, or the one that its id and `options` describe."""
    if isinstance(env_or_id, str):
        try:
            import gymnasium
        except ImportError:
            raise ImportError(
                "from_gymnasium needs gymnasium: pip install 'belated[gym]'."
            ) from None
        return gymnasium.make(env_or_id, **options)
    if options:
        raise TypeError(
            "options of from_gymnasium must come with an id, "
            f"got {', '.join(options)} and an environment."
        )
    if not callable(getattr(env_or_id, "reset", None)):
        raise TypeError(f"env_or_id must be an environment or its id, got {env_or_id!r}.")
    return env_or_id


def _name(env: Any) -> str:
    """Return the id of an environment, or the name of its class."""
    spec = getattr(env, "spec", None)
    return type(getattr(env, "unwrapped", env)).__name__ if spec is None else str(spec.id)


def _read_outcomes(env: Any) -> Outcomes:
    """Return the table of transitions of an environment as columns."""
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
            f"terminated) for states and actions numbered from 0, got {kind} of a different form."
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
    """Return the distribution of the first state, or the state that every reset returns."""
    distribution = getattr(getattr(env, "unwrapped", env), "initial_state_distrib", None)
    if distribution is not None:
        return np.asarray(distribution, np.float64)
    seen = {int(env.reset(seed=seed)[0]) for seed in range(START_CHECK_RESETS)}
    if len(seen) > 1:
        raise ValueError(
            f"{_name(env)} starts in several states with unknown probabilities; "
            "give from_gymnasium start=, a distribution over its states."
        )
    return seen.pop()
