"""`plan`: the paper's Base(N', M') -> policy, with dense arrays in and out."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.episode import Floats, Ints, Shape, check_integer
from belated.learner.bases.base import Base, kernel_of
from belated.learner.counts import from_dense
from belated.learner.planning import Ties, blank, plan_all, scratch
from belated.randomness import check_seed


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy and the optimistic values it is greedy for."""

    policy: NDArray[np.int32]
    """(H, S): the action for each step and state."""
    q: Floats
    """(H, S, A)"""
    v: Floats
    """(H + 1, S), the last row zero."""


@runtime_checkable
class Planner(Protocol):
    """A base algorithm as a plain Python object: dense counts and rewards in, a plan out.

    `visits` is (stages, S, A) and `transitions` (stages, S, A, S), with one stage when counts
    are pooled; `rewards` is (H, S, A).
    """

    def plan(self, visits: Ints, transitions: Ints, rewards: Floats, episodes: int) -> Plan: ...


def plan(
    base: Base | Planner,
    visits: ArrayLike,
    transitions: ArrayLike,
    rewards: ArrayLike,
    *,
    episodes: int,
    horizon: int | None = None,
    seed: int = 0,
) -> Plan:
    """Plan from observed counts.

    `visits` is N', (H, S, A), and `transitions` M', (H, S, A, S); counts pooled over the stages
    are (S, A) and (S, A, S), and need `horizon`. `rewards` is (H, S, A) or (S, A). `episodes` is
    K, which the log terms need; `seed` matters where something is drawn, as for ties="random".

    >>> from belated.learner.bases.ucrl2 import UCRL2
    >>> nothing = plan(UCRL2(), np.zeros((2, 3, 2)), np.zeros((2, 3, 2, 3)), np.ones((3, 2)),
    ...                episodes=10)
    >>> nothing.v.tolist()
    [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    if not isinstance(base, Base | Planner):
        raise TypeError(f"base is {base!r}; it must be a Base, or have a method plan.")
    if isinstance(base, Base) and base.stepwise:
        raise ValueError(f"base is {base.name}, which learns step by step; counts are not enough.")
    m = _counts("transitions", transitions)
    n = _counts("visits", visits)
    if m.ndim not in (3, 4) or m.shape[-1] != m.shape[-3]:
        raise ValueError(
            f"transitions has shape {m.shape}; it must be (H, S, A, S), or (S, A, S) if pooled."
        )
    if n.shape != m.shape[:-1]:
        raise ValueError(f"visits has shape {n.shape}; transitions ask for {m.shape[:-1]}.")
    if horizon is not None:
        check_integer("horizon", horizon, 1)
    elif m.ndim == 3:
        raise ValueError("horizon is missing; counts pooled over the stages do not tell it.")
    if m.ndim == 4 and horizon not in (None, m.shape[0]):
        raise ValueError(f"horizon is {horizon}; transitions have {m.shape[0]} stages.")
    shape = Shape(m.shape[-1], m.shape[-2], m.shape[0] if m.ndim == 4 else horizon or 1)
    wrong = np.argwhere(m.sum(axis=-1) != n)
    if wrong.size:
        at = tuple(int(i) for i in wrong[0])
        raise ValueError(
            f"visits{list(at)} is {n[at]}, but transitions{list(at)} add up to {m[at].sum()}."
        )
    check_integer("episodes", episodes, 1)
    known = check_rewards(rewards, shape)
    if not isinstance(base, Base):
        lead = n.ndim == 2
        return base.plan(n[None] if lead else n, m[None] if lead else m, known, episodes)
    table = blank(shape)
    ties = Ties(base.ties == "random", np.uint64(check_seed(seed)), 0)
    kernel = kernel_of(base, shape, episodes)
    plan_all(base, kernel, from_dense(shape, m), known, ties, table, scratch(shape))
    return Plan(table.actions, table.q.reshape(shape.table), table.v)


def check_rewards(rewards: ArrayLike, shape: Shape) -> Floats:
    """Known rewards as (H, S, A), or a sentence that says what is wrong."""
    try:
        values = np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("rewards must be a rectangular array of numbers.") from None
    if values.shape not in (shape.table, shape.table[1:]):
        raise ValueError(
            f"rewards has shape {values.shape}; it must be (H, S, A) = {shape.table} "
            f"or (S, A) = {shape.table[1:]}."
        )
    outside = np.argwhere(~((values >= 0) & (values <= 1)))
    if outside.size:
        at = tuple(int(i) for i in outside[0])
        raise ValueError(f"rewards{list(at)} is {values[at]}; rewards lie in [0, 1].")
    return np.broadcast_to(values, shape.table).copy()


def _counts(name: str, values: ArrayLike) -> Ints:
    array = np.asarray(values)
    if not np.all(np.isfinite(array) & (array >= 0) & (array == np.floor(array))):
        raise ValueError(f"{name} must hold whole numbers of at least 0.")
    return array.astype(np.int64)
