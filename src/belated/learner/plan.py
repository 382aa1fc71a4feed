"""`plan`: the paper's function Base(N', M'), which computes a policy from dense counts."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_integer
from belated.episode import Ints, Shape
from belated.learner.bases import BASE_NAMES
from belated.learner.bases.base import BaseAlgorithm, Plan, Planner
from belated.learner.instance import Instance
from belated.learner.problem import LearningProblem
from belated.learner.state import Counts, add, empty_counts, empty_state, with_room
from belated.learner.updaters.active import Active
from belated.shape import Allowed

__all__ = ["Plan", "Planner", "plan"]


def plan(
    base: BaseAlgorithm | Planner | str,
    visits: ArrayLike,
    transitions: ArrayLike,
    rewards: ArrayLike,
    *,
    episodes: int,
    horizon: int | None = None,
    seed: int = 0,
    terminal: Iterable[int] = (),
    allowed: Allowed = None,
) -> Plan:
    """Return the plan that a base computes from given counts.

    Parameters
    ----------
    base : Base, Planner or str
        Base algorithm, an object with a `plan` method, or the name of a base, such as
        "ucrl2:scale=0.1".
    visits : array_like
        N', of shape (H, S, A), or (S, A) for pooled counts.
    transitions : array_like
        M', of shape (H, S, A, S), or (S, A, S) for pooled counts.
    rewards : array_like
        Known mean rewards, of shape (H, S, A) or (S, A), in [0, 1].
    episodes : int
        Number of episodes K; the log terms of bonuses depend on it.
    horizon : int, optional
        Number of steps H; required for pooled counts, which do not determine it.
    seed : int
        Seed of random numbers. It affects the plan only if the base draws any, for example with
        ties="random".
    terminal : iterable of int
        Terminal states, whose value is 0.
    allowed : mapping or array_like, optional
        Allowed actions; see `Shape`.

    Returns
    -------
    Plan
        Policy and optimistic values.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or if the base does not plan from counts.

    Examples
    --------
    >>> from belated.learner.bases.ucrl2 import UCRL2
    >>> no_data = plan(UCRL2(), np.zeros((2, 3, 2)), np.zeros((2, 3, 2, 3)), np.ones((3, 2)),
    ...                episodes=10)
    >>> no_data.v.tolist()
    [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    base = BASE_NAMES.parse(base)
    if isinstance(base, BaseAlgorithm) and base.stepwise:
        raise ValueError(f"base must plan from counts, but {base.name} learns from single steps.")
    m, size = _check_counts(visits, transitions, horizon)
    shape = size.restrict(terminal=terminal, allowed=allowed)
    problem = LearningProblem(
        shape=shape,
        base=base,
        updater=Active(),
        rewards=rewards,
        episodes=episodes,
        stages="pooled" if m.ndim == 3 else "each",
        seed=seed,
    )
    state = empty_state(problem)._replace(counts=from_dense(shape, m))
    Instance(problem, 0, state).plan(0.0)
    return Plan(state.table.actions, state.table.q.reshape(shape.table), state.table.v)


def _check_counts(
    visits: ArrayLike, transitions: ArrayLike, horizon: int | None
) -> tuple[Ints, Shape]:
    """Return M' as an array of integers, and the size of the problem.

    `visits`, `transitions` and `horizon` are arguments of `plan`. Raises ValueError if their shapes
    do not match, or if the visit count of a row is not the sum of its transition counts.
    """
    m = _integers("transitions", transitions)
    n = _integers("visits", visits)
    if m.ndim not in (3, 4) or m.shape[-1] != m.shape[-3]:
        raise ValueError(
            f"transitions must have shape (H, S, A, S), or (S, A, S) if pooled, got {m.shape}."
        )
    if n.shape != m.shape[:-1]:
        raise ValueError(f"visits must have shape {m.shape[:-1]} like transitions, got {n.shape}.")
    if horizon is not None:
        check_integer("horizon", horizon, 1)
    elif m.ndim == 3:
        raise ValueError("horizon is missing; counts pooled over the steps do not determine it.")
    if m.ndim == 4 and horizon not in (None, m.shape[0]):
        raise ValueError(f"horizon must be {m.shape[0]}, the stages of transitions, got {horizon}.")
    mismatch = np.argwhere(m.sum(axis=-1) != n)
    if mismatch.size:
        at = tuple(int(i) for i in mismatch[0])
        raise ValueError(
            f"visits{list(at)} must be {m[at].sum()}, the sum of transitions{list(at)}, "
            f"got {n[at]}."
        )
    return m, Shape(m.shape[-1], m.shape[-2], m.shape[0] if m.ndim == 4 else horizon or 1)


def _integers(name: str, values: ArrayLike) -> Ints:
    array = np.asarray(values)
    valid = np.isfinite(array) & (array >= 0) & (array == np.floor(array))
    for wrong in array[~valid][:1]:
        raise ValueError(f"{name} must be whole numbers of at least 0, got {wrong}.")
    return array.astype(np.int64)


def from_dense(shape: Shape, transitions: Ints) -> Counts:
    """Return sparse counts with the values of a dense array.

    `transitions` are M', whole numbers of shape (H, S, A, S), or (S, A, S) for pooled counts.
    """
    S, A = shape.states, shape.actions
    counts = empty_counts(shape, 1 if transitions.ndim == 3 else shape.horizon)
    table = transitions.reshape(-1, S)
    for row, y in np.argwhere(table > 0):
        stage, state = divmod(int(row) // A, S)
        counts = with_room(counts, 1)
        add(counts, int(row), stage, state, int(y), int(table[row, y]))
    return counts
