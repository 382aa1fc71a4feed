"""Exact values by backward induction: V* of a world, and V^pi of a policy in it.

The kernels take a world's plain arrays and compute each cell (h, s) by itself, summing over
successors in state order, so that a cell computed alone has the same bits as in a whole table.
Steps count from 0, and v[H] is zero.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats, Ints, Policy, Shape
from belated.mdp.model import MDP, TOLERANCE, mean_reward, row_of
from belated.mdp.play import check_policy

Actions = NDArray[np.int32]
Successors = NDArray[np.int32]

NOWHERE: Bools = np.zeros((0, 0, 0), np.bool_)
"""The `explore` marks of a policy that never draws its action."""


@inlined
def q_value(
    ptr: Ints,
    succ: Successors,
    prob: Floats,
    rewards: Floats,
    v_next: Floats,
    h: int,
    s: int,
    a: int,
) -> float:
    """Q_h(s, a) = R_h(s, a) + <P_h(s, a), V_{h+1}>."""
    row = row_of(ptr, rewards, h, s, a)
    total = 0.0
    for j in range(ptr[row], ptr[row + 1]):
        total += prob[j] * v_next[succ[j]]
    return mean_reward(rewards, h, s, a) + total


@inlined
def cell_value(
    ptr: Ints,
    succ: Successors,
    prob: Floats,
    rewards: Floats,
    actions: Actions,
    explore: Bools,
    epsilon: float,
    v_next: Floats,
    h: int,
    s: int,
) -> float:
    """V_h(s) of a policy: the mean Q of the actions marked here, or Q of its one action.

    `explore` is (H, S, A), or (0, 0, 0) when nothing is drawn anywhere. Where nothing is marked,
    all actions share the probability `epsilon`.
    """
    if explore.size > 0:
        total = 0.0
        marked = 0
        for a in range(explore.shape[2]):
            if explore[h, s, a]:
                total += q_value(ptr, succ, prob, rewards, v_next, h, s, a)
                marked += 1
        if marked > 0:
            return total / marked
        if epsilon > 0.0:
            for a in range(explore.shape[2]):
                total += q_value(ptr, succ, prob, rewards, v_next, h, s, a)
            greedy = q_value(ptr, succ, prob, rewards, v_next, h, s, actions[h, s])
            return (1.0 - epsilon) * greedy + epsilon * (total / explore.shape[2])
    return q_value(ptr, succ, prob, rewards, v_next, h, s, actions[h, s])


@kernel
def evaluate(
    ptr: Ints,
    succ: Successors,
    prob: Floats,
    rewards: Floats,
    actions: Actions,
    explore: Bools,
    epsilon: float,
    v: Floats,
) -> None:
    """Fill v, (H + 1, S), with the values of a policy."""
    H, S = actions.shape
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            v[h, s] = cell_value(
                ptr, succ, prob, rewards, actions, explore, epsilon, v[h + 1], h, s
            )


@kernel
def evaluate_mixture(
    ptr: Ints, succ: Successors, prob: Floats, rewards: Floats, weights: Floats, v: Floats
) -> None:
    """Fill v with the values of a policy that plays a with probability weights[h, s, a]."""
    H, S, A = weights.shape
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            total = 0.0
            for a in range(A):
                total += weights[h, s, a] * q_value(ptr, succ, prob, rewards, v[h + 1], h, s, a)
            v[h, s] = total


@kernel
def maximise(ptr: Ints, succ: Successors, prob: Floats, rewards: Floats, v: Floats) -> None:
    """Fill v with V*."""
    _, S, A = rewards.shape
    H = v.shape[0] - 1
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            top = q_value(ptr, succ, prob, rewards, v[h + 1], h, s, 0)
            for a in range(1, A):
                top = max(top, q_value(ptr, succ, prob, rewards, v[h + 1], h, s, a))
            v[h, s] = top


@kernel
def expectation(law: Floats, values: Floats) -> float:
    """<law, values>, summed in order."""
    total = 0.0
    for j in range(law.size):
        total += law[j] * values[j]
    return total


def optimal_table(world: MDP) -> Floats:
    """V*, (H + 1, S); the last row is zero."""
    v = np.zeros((world.shape.horizon + 1, world.shape.states))
    maximise(world.ptr, world.succ, world.prob, world.rewards, v)
    return v


def policy_table(world: MDP, policy: Policy | ArrayLike) -> Floats:
    """V^pi, (H + 1, S), of a Policy, of actions (H, S) or of probabilities (H, S, A)."""
    v = np.zeros((world.shape.horizon + 1, world.shape.states))
    arrays = (world.ptr, world.succ, world.prob, world.rewards)
    if not isinstance(policy, Policy):
        table = _array(policy)
        if table.ndim == 3:
            evaluate_mixture(*arrays, _weights(world.shape, table), v)
            return v
        policy = Policy(table)
    check_policy(world.shape, policy)
    actions = np.array(policy.actions, np.int32)  # a copy: kernels want arrays they may write to
    explore = NOWHERE if policy.explore is None else np.array(policy.explore, np.bool_)
    evaluate(*arrays, actions, explore, policy.epsilon, v)
    return v


def optimal_value(world: MDP) -> float:
    """V*_1, averaged over the first state.

    >>> from belated.mdp.chain import chain
    >>> round(optimal_value(chain(5)), 12)
    0.4096
    """
    return float(expectation(world.start, optimal_table(world)[0]))


def policy_value(world: MDP, policy: Policy | ArrayLike) -> float:
    """V^pi_1, averaged over the first state; for `policy` see `policy_table`."""
    return float(expectation(world.start, policy_table(world, policy)[0]))


def _array(policy: ArrayLike) -> NDArray[Any]:
    """Integers with two axes, or numbers with three."""
    try:
        table = np.asarray(policy)
    except ValueError:  # a ragged list
        table = np.asarray(None)
    if table.dtype.kind not in {2: "iu", 3: "biuf"}.get(table.ndim, ""):
        raise TypeError(
            f"policy is an array of shape {table.shape} and type {table.dtype}; it must be "
            "a Policy, integer actions (H, S) or probabilities (H, S, A)."
        )
    return table


def _weights(shape: Shape, table: NDArray[Any]) -> Floats:
    if table.shape != shape.table:
        raise ValueError(
            f"policy has shape {table.shape}; probabilities need (H, S, A) = {shape.table}."
        )
    weights = np.ascontiguousarray(table, np.float64)
    for h, s, a in np.argwhere(~((weights >= 0) & (weights <= 1 + TOLERANCE)))[:1]:
        raise ValueError(
            f"policy plays action {a} at stage {h}, state {s} with probability "
            f"{weights[h, s, a]}; it must lie in [0, 1]."
        )
    sums = weights.sum(axis=2)
    for h, s in np.argwhere(np.abs(sums - 1) > TOLERANCE)[:1]:
        raise ValueError(
            f"The probabilities of policy at stage {h}, state {s} sum to {sums[h, s]}; "
            f"they must sum to 1 within {TOLERANCE:g}."
        )
    return weights
