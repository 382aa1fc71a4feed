"""Exact values by backward induction: V* and optimal actions of a world, V^pi of a policy.

The value of each cell (h, s) is computed separately, as a sum over successors in ascending order.
The value of a cell computed alone is therefore bit-identical to its value in a whole table. Steps h
are numbered from 0, and the values v[H] after the last step are 0.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats, Ints, Policy, Shape
from belated.mdp.model import MDP, PROBABILITY_TOLERANCE, mean_reward, row_of
from belated.mdp.play import check_policy, check_weights
from belated.worklist import END, Worklist, put, take

NO_MASK: Bools = np.zeros((0, 0, 0), np.bool_)
"""Mask in place of None, which compiled functions do not accept."""

VALUE_TOLERANCE: Final = 1e-9
"""Largest difference at which two values are considered equal up to rounding."""


class Model(NamedTuple):
    """Transition probabilities and mean rewards of an `MDP`, for compiled functions."""

    ptr: Ints
    succ: NDArray[np.int32]
    prob: Floats
    rewards: Floats


class Predecessors(NamedTuple):
    """Rows of a model from which each state can be reached.

    The rows of stage g that have state y as a possible successor are `row[ptr[i] : ptr[i + 1]]`,
    where i = g * S + y. These rows are numbered within their stage, as s * A + a.
    """

    ptr: Ints
    row: NDArray[np.int32]


class PolicyArrays(NamedTuple):
    """Policy, for compiled functions."""

    actions: NDArray[np.int32]  # (H, S) action at each (step, state) where it does not explore
    explore: Bools  # (H, S, A) mask: one of the marked actions is drawn; or NO_MASK
    epsilon: float  # probability of a uniform action at cells without a marked action
    allowed: Bools  # (H, S, A) mask of the actions from which epsilon draws; or NO_MASK for all


def model_of(world: MDP) -> Model:
    """Return the arrays of `world` that determine values."""
    return Model(world.ptr, world.succ, world.prob, world.rewards)


def predecessors(world: MDP) -> Predecessors:
    """Return the rows from which each state of `world` can be reached."""
    S, A = world.shape.states, world.shape.actions
    rows = np.repeat(np.arange(world.ptr.size - 1), np.diff(world.ptr))
    stage, row = np.divmod(rows, S * A)
    key = stage * S + world.succ
    ptr = np.zeros(world.stages * S + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=world.stages * S), out=ptr[1:])
    return Predecessors(ptr, row[np.argsort(key, kind="stable")].astype(np.int32))


@inlined
def q_value(model: Model, v_next: Floats, h: int, s: int, a: int) -> float:
    """Return Q_h(s, a) = R_h(s, a) + <P_h(. | s, a), V_{h+1}>, where V_{h+1} is `v_next`.

    R and P are those of `model`; `h`, `s` and `a` are the step, the state and the action.
    """
    row = row_of(model.ptr, model.rewards, h, s, a)
    total = 0.0
    for j in range(model.ptr[row], model.ptr[row + 1]):
        total += model.prob[j] * v_next[model.succ[j]]
    return mean_reward(model.rewards, h, s, a) + total


@inlined
def cell_value(model: Model, policy: PolicyArrays, v_next: Floats, h: int, s: int) -> float:
    """Return the value V_h(s) of a `policy` in `model`, where V_{h+1} is `v_next`.

    `h` and `s` are the step and the state.
    """
    explore, epsilon, greedy = policy.explore, policy.epsilon, policy.actions[h, s]
    if explore.size > 0:
        total = 0.0
        explored = 0
        for a in range(explore.shape[2]):
            if explore[h, s, a]:
                total += q_value(model, v_next, h, s, a)
                explored += 1
        if explored > 0:
            return total / explored
        if epsilon > 0.0:
            for a in range(explore.shape[2]):
                if policy.allowed.size == 0 or policy.allowed[h, s, a]:
                    total += q_value(model, v_next, h, s, a)
                    explored += 1
            best = q_value(model, v_next, h, s, greedy)
            return (1.0 - epsilon) * best + epsilon * (total / explored)
    return q_value(model, v_next, h, s, greedy)


@kernel
def evaluate(model: Model, policy: PolicyArrays, v: Floats) -> None:
    """Fill `v`, shape (H + 1, S), with the values of a `policy` in `model`."""
    H, S = policy.actions.shape
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            v[h, s] = cell_value(model, policy, v[h + 1], h, s)


@inlined
def may_play(policy: PolicyArrays, h: int, s: int, a: int) -> bool:
    """Return False only if action `a` certainly has probability 0 in state `s` at step `h`.

    True may be returned for an action that has probability 0 under `policy` as well; this costs
    time, but does not change values.
    """
    if policy.actions[h, s] == a or policy.epsilon > 0.0:
        return True
    return policy.explore.size > 0 and policy.explore[h, s, a]


@kernel
def reevaluate(
    model: Model,
    before: Predecessors,
    policy: PolicyArrays,
    changed: Worklist,
    v: Floats,
    updated: NDArray[np.int32],
) -> None:
    """Update the values of a policy after its actions have changed in some cells.

    Only the values that can have changed are computed again. The result is bit-identical to that of
    `evaluate`.

    Parameters
    ----------
    model, before
        World in which the policy is evaluated, and the predecessors of its states.
    policy : PolicyArrays
        Policy after the change.
    changed : Worklist
        Cells h * S + s in which the policy has changed, grouped by step h; empty after the call.
    v : Floats
        (H + 1, S) values of the policy before the change; updated in place.
    updated : NDArray
        Working memory of length S.
    """
    H, S = policy.actions.shape
    A = model.rewards.shape[2]
    stages = (before.ptr.size - 1) // S
    count = 0  # states of step h + 1 whose value has changed, listed in `updated`
    for h in range(H - 1, -1, -1):
        # Add the cells with a changed successor, or all cells if many values have changed.
        if count * A >= S:
            for s in range(S):
                put(changed, h, h * S + s)
        else:
            for i in range(count):
                at = (h if stages > 1 else 0) * S + updated[i]
                for j in range(before.ptr[at], before.ptr[at + 1]):
                    s = before.row[j] // A
                    if may_play(policy, h, s, before.row[j] - s * A):
                        put(changed, h, h * S + s)
        # Compute the values of these cells again.
        count = 0
        cell = take(changed, h)
        while cell != END:
            s = cell - h * S
            new = cell_value(model, policy, v[h + 1], h, s)
            updated[count] = s
            count += new != v[h, s]
            v[h, s] = new
            cell = take(changed, h)


@kernel
def evaluate_stochastic(model: Model, weights: Floats, v: Floats) -> None:
    """Fill `v`, shape (H + 1, S), with the values of a stochastic policy in `model`.

    `weights[h, s, a]` is the probability of action a in state s at step h.
    """
    H, S, A = weights.shape
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            total = 0.0
            for a in range(A):
                total += weights[h, s, a] * q_value(model, v[h + 1], h, s, a)
            v[h, s] = total


@kernel
def maximise(model: Model, allowed: Bools, v: Floats) -> None:
    """Fill `v`, shape (H + 1, S), with V* of `model`, the maxima over allowed actions.

    `allowed` is a mask of shape (H, S, A), or `NO_MASK`.
    """
    _, S, A = model.rewards.shape
    H = v.shape[0] - 1
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            top = -math.inf
            for a in range(A):
                if allowed.size == 0 or allowed[h, s, a]:
                    top = max(top, q_value(model, v[h + 1], h, s, a))
            v[h, s] = top


@kernel
def expectation(weights: Floats, values: Floats) -> float:
    """Return the dot product of `weights` and `values`, summed in order of the index."""
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * values[j]
    return total


def optimal_table(world: MDP) -> Floats:
    """Return the optimal values V*_h(s) of `world`, shape (H + 1, S); the last row is 0.

    >>> from belated.mdp.classics import chain
    >>> optimal_table(chain(2))
    array([[0.5, 1.5],
           [0. , 1. ],
           [0. , 0. ]])
    """
    v = np.zeros((world.shape.horizon + 1, world.shape.states))
    maximise(model_of(world), as_mask(world.shape.allowed), v)
    return v


def as_mask(mask: Bools | None) -> Bools:
    """Return a copy of a mask of actions, or `NO_MASK` if it is None."""
    return NO_MASK if mask is None else np.array(mask, np.bool_)


def policy_table(world: MDP, policy: Policy | ArrayLike) -> Floats:
    """Return the value V^pi_h(s) of a policy for every step and state.

    Parameters
    ----------
    world : MDP
        World in which the policy is evaluated.
    policy : Policy or array_like
        Policy; or integer actions, shape (H, S); or probabilities of actions, shape (H, S, A).

    Returns
    -------
    ndarray, shape (H + 1, S)
        Expected sum of rewards from each step and state on; the last row is 0.

    Examples
    --------
    >>> from belated.mdp.classics import chain
    >>> policy_table(chain(2), [[0, 0], [0, 0]])
    array([[0., 1.],
           [0., 1.],
           [0., 0.]])
    """
    v = np.zeros((world.shape.horizon + 1, world.shape.states))
    if not isinstance(policy, Policy):
        table = _policy_array(policy)
        if table.ndim == 3:
            evaluate_stochastic(model_of(world), _check_probabilities(world.shape, table), v)
            return v
        policy = Policy(table)
    check_policy(world.shape, policy)
    actions = np.array(policy.actions, np.int32)  # a copy, since kernels take writable arrays
    masks = as_mask(policy.explore), as_mask(policy.allowed)
    evaluate(model_of(world), PolicyArrays(actions, masks[0], policy.epsilon, masks[1]), v)
    return v


def optimal_value(world: MDP | str) -> float:
    """Return the largest expected sum of rewards of an episode in `world`, in [0, H].

    This is the expectation of V*_1 over the distribution of the first state. `world` is an MDP, or
    its name such as "chain-5".

    >>> from belated.mdp.classics import chain
    >>> round(optimal_value(chain(5)), 12)
    0.4096
    """
    world = find_world(world)
    return float(expectation(world.start, optimal_table(world)[0]))


def optimal_actions(world: MDP | str) -> Bools:
    """Return whether each action of `world` is optimal at each step and state, shape (H, S, A).

    In case of a tie, several actions are optimal. Only allowed actions are optimal. In a terminal
    state, only action 0 is optimal.

    >>> from belated.mdp.classics import chain
    >>> optimal_actions(chain(3))[:, 0].astype(int)  # right while there is time, then either
    array([[0, 1],
           [1, 1],
           [1, 1]])
    """
    world = find_world(world)
    H, S, A = world.shape.table
    v = optimal_table(world)
    optimal = np.zeros((H, S, A), np.bool_)
    for h in range(H):
        first = 0 if world.homogeneous else h * S * A
        ptr = world.ptr[first : first + S * A + 1]
        block = slice(ptr[0], ptr[-1])
        terms = world.prob[block] * v[h + 1][world.succ[block]]
        q = np.add.reduceat(terms, ptr[:-1] - ptr[0]).reshape(S, A)
        q += world.rewards[h % len(world.rewards)]
        q[~world.shape.available[h]] = -np.inf
        optimal[h] = q >= q.max(axis=1, keepdims=True) - VALUE_TOLERANCE
    return optimal


def policy_value(world: MDP | str, policy: Policy | ArrayLike) -> float:
    """Return the expected sum of rewards of an episode that follows `policy` in `world`.

    This is the expectation of V^pi_1 over the distribution of the first state. `policy` is a
    Policy; or integer actions, shape (H, S); or probabilities of actions, shape (H, S, A).

    >>> from belated.mdp.classics import chain
    >>> round(policy_value(chain(5), np.ones((5, 5), int)), 12)
    0.4096
    """
    world = find_world(world)
    return float(expectation(world.start, policy_table(world, policy)[0]))


def find_world(world: MDP | str) -> MDP:
    """Return the world with the name `world`; an MDP is returned unchanged.

    Raises ValueError if there is no world with this name, and TypeError if `world` is neither a
    name nor an MDP.
    """
    # Imported here, so that compiled code does not depend on the modules of all worlds.
    from belated.mdp.worlds import world as parse_world

    return parse_world(world)


def _policy_array(policy: ArrayLike) -> NDArray[Any]:
    """Return `policy` as an array: integer actions with two axes, or probabilities with three axes.

    Any other argument raises TypeError.
    """
    try:
        table = np.asarray(policy)
    except ValueError:  # a ragged list
        table = np.asarray(None)
    if table.dtype.kind not in {2: "iu", 3: "biuf"}.get(table.ndim, ""):
        raise TypeError(
            "policy must be a Policy, integer actions (H, S) or probabilities (H, S, A), "
            f"got an array of shape {table.shape} and type {table.dtype}."
        )
    return table


def _check_probabilities(shape: Shape, table: NDArray[Any]) -> Floats:
    """Return `table`, probabilities of actions of shape (H, S, A), as floats after checking it.

    ValueError is raised if the shape is wrong, an entry lies outside [0, 1], the probabilities of a
    (step, state) do not sum to 1, or an action that is not allowed has a positive probability.
    """
    if table.shape != shape.table:
        raise ValueError(
            f"Probabilities of policy must have shape (H, S, A) = {shape.table}, got {table.shape}."
        )
    weights = np.ascontiguousarray(table, np.float64)
    for h, s, a in np.argwhere(~((weights >= 0) & (weights <= 1 + PROBABILITY_TOLERANCE)))[:1]:
        raise ValueError(
            f"The probability in policy of action {a} at step {h}, state {s} must lie in [0, 1], "
            f"got {weights[h, s, a]}."
        )
    sums = weights.sum(axis=2)
    for h, s in np.argwhere(np.abs(sums - 1) > PROBABILITY_TOLERANCE)[:1]:
        raise ValueError(
            f"The probabilities in policy at step {h}, state {s} must sum to 1 within "
            f"{PROBABILITY_TOLERANCE:g}, got {sums[h, s]}."
        )
    if shape.allowed is not None:
        check_weights(shape, weights)
    return weights
