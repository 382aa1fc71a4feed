"""Worlds that others wrote: Gymnasium environments that show their table of transitions.

`P[state][action]` lists (probability, next state, reward, terminated), as FrozenLake, CliffWalking
and Taxi do. The table is taken at its word, and a time limit around it is ignored: how long an
episode lasts is the horizon's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Bools, Floats, Ints, Shape, check_integer
from belated.mdp.model import MDP
from belated.mdp.rewards import Affine

RESETS = 32
"""How often an environment is reset to see whether it always starts in the same state."""


def from_gymnasium(
    env_or_id: Any, *, horizon: int, start: int | ArrayLike | None = None, **options: Any
) -> MDP:
    """The world of a Gymnasium environment, or of its id and `options`, with `horizon` steps.

    A state in which the environment terminates absorbs, and pays nothing from then on. Where a
    state that an episode may also pass through is entered with `terminated`, that entry leads to
    one more state instead, the last, which absorbs.

    Rewards that depend on where a step leads become their mean. If any lies outside [0, 1], all of
    them, and the 0 after the end, are mapped there by one affine map, `world.reward_map`:

        V_original = world.reward_map.original(V, horizon)

    The first state follows `start`, a state or a distribution; else the environment's
    `initial_state_distrib`; else it is the one that every reset returns.

    >>> lake = from_gymnasium("FrozenLake-v1", horizon=20)
    >>> lake
    MDP(states=16, actions=4, horizon=20, homogeneous, 148 successors)
    """
    check_integer("horizon", horizon, 1)
    env = _environment(env_or_id, options)
    try:
        outcomes = _outcomes(env)
        first = _start(env) if start is None else start
    finally:
        if isinstance(env_or_id, str):
            env.close()
    return _world(outcomes, first, horizon)


@dataclass(frozen=True)
class Outcomes:
    """The table as columns, an entry for each possible outcome of each (s, a)."""

    states: int
    actions: int
    s: Ints
    a: Ints
    p: Floats
    y: Ints
    reward: Floats
    ends: Bools


def _world(outcomes: Outcomes, start: int | ArrayLike, horizon: int) -> MDP:
    S, A = outcomes.states, outcomes.actions
    law = _law(start, S)
    live = _live(outcomes, law)
    y = np.where(outcomes.ends & live[outcomes.y], S, outcomes.y)
    states = S + int((y == S).any())
    absorbs = np.zeros(states, np.bool_)
    absorbs[y[outcomes.ends]] = True

    kept = ~absorbs[outcomes.s]
    s, a, y = outcomes.s[kept], outcomes.a[kept], y[kept]
    p, reward = outcomes.p[kept], outcomes.reward[kept]
    paid = np.append(reward, 0.0) if absorbs.any() else reward
    reward_map = Affine.onto(float(paid.min()), float(paid.max()))
    rewards = np.zeros((states, A))
    np.add.at(rewards, (s, a), p * reward_map.unit(reward))
    rewards[absorbs] = reward_map.unit(0.0)

    flat, which = np.unique((s * A + a) * states + y, return_inverse=True)
    moving = (flat // (A * states), flat // states % A, flat % states, np.bincount(which, p))
    entries = zip(moving, _staying(np.flatnonzero(absorbs), A), strict=True)
    world = MDP.sparse(
        Shape(states, A, horizon),
        tuple(np.concatenate(column) for column in entries),
        np.clip(rewards, 0, 1),  # a mean may leave [0, 1] by rounding
        start=np.append(law, np.zeros(states - S)),
    )
    return replace(world, reward_map=reward_map)


def _law(start: int | ArrayLike, states: int) -> Floats:
    """`start` as a distribution, checked as any world checks it."""
    still = _staying(np.arange(states), 1)
    return MDP.sparse(Shape(states, 1, 1), still, np.zeros((states, 1)), start=start).start


def _staying(states: Ints, actions: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Entries under which each of these states stays where it is."""
    s = np.repeat(states, actions)
    return s, np.tile(np.arange(actions), states.size), s, np.ones(s.size)


def _live(outcomes: Outcomes, law: Floats) -> Bools:
    """The states that an episode may be in before it has ended."""
    live = law > 0
    on = ~outcomes.ends
    while True:
        reached = outcomes.y[on & live[outcomes.s]]
        if live[reached].all():
            return live
        live[reached] = True


def _environment(env_or_id: Any, options: dict[str, Any]) -> Any:
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
            f"from_gymnasium got {', '.join(options)} and an environment; "
            "options go with an id, to make the environment from."
        )
    if not callable(getattr(env_or_id, "reset", None)):
        raise TypeError(f"env_or_id is {env_or_id!r}; it must be an environment or its id.")
    return env_or_id


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return type(getattr(env, "unwrapped", env)).__name__ if spec is None else str(spec.id)


def _outcomes(env: Any) -> Outcomes:
    table = getattr(getattr(env, "unwrapped", env), "P", None)
    if table is None:
        raise ValueError(
            f"{_name(env)} shows no table of transitions, P, so it cannot be read as a world; "
            "if its spaces are discrete, wrap it in DelayedFeedback and learn by stepping it."
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
            f"P of {_name(env)} is {kind} of another form; P[state][action] must list "
            "(probability, next state, reward, terminated) for states and actions from 0 on."
        ) from None
    s, a, p, y, reward, ends = columns.T
    for at in np.flatnonzero(~((y >= 0) & (y < states) & (y == np.floor(y))))[:1]:
        raise ValueError(
            f"P of {_name(env)} leads from state {s[at]:g} by action {a[at]:g} to {y[at]:g}; "
            f"allowed are 0 .. {states - 1}."
        )
    from_s, by_a, to_y = columns.T[[0, 1, 3]].astype(np.int64)
    return Outcomes(states, actions, from_s, by_a, p, to_y, reward, ends != 0)


def _start(env: Any) -> int | Floats:
    law = getattr(getattr(env, "unwrapped", env), "initial_state_distrib", None)
    if law is not None:
        return np.asarray(law, np.float64)
    seen = {int(env.reset(seed=seed)[0]) for seed in range(RESETS)}
    if len(seen) > 1:
        raise ValueError(
            f"{_name(env)} starts in several states and does not say how likely each is; "
            "give from_gymnasium a start, a distribution over its states."
        )
    return seen.pop()
