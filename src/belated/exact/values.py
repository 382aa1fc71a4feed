"""Exact values by backward induction: V* and optimal actions of a world, V^pi of a policy.

Compiled functions take the arrays `ptr`, `succ`, `prob` and `rewards` of an `MDP`. They compute the
value of each cell (h, s) separately and sum over successors in ascending order. The value of a cell
computed alone is therefore bit-identical to its value in a whole table. Steps h are numbered from
0, and the values v[H] after the last step are 0.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats, Ints, Policy, Shape
from belated.mdp.model import MDP, PROBABILITY_TOLERANCE, mean_reward, row_of
from belated.mdp.play import check_policy, check_weights

Actions = NDArray[np.int32]
Successors = NDArray[np.int32]

NO_EXPLORATION: Bools = np.zeros((0, 0, 0), np.bool_)
"""Value of the argument `explore` for a deterministic policy."""

ALL_ALLOWED: Bools = np.zeros((0, 0, 0), np.bool_)
"""Value of the argument `allowed` if all actions are allowed."""

VALUE_TOLERANCE: Final = 1e-9
"""Largest difference at which two values are considered equal up to rounding."""


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
    """Return Q_h(s, a) = R_h(s, a) + <P_h(. | s, a), V_{h+1}>.

    Parameters
    ----------
    ptr, succ, prob, rewards : ndarray
        Arrays of an `MDP`.
    v_next : ndarray, shape (S,)
        Values of the next step, V_{h+1}.
    h, s, a : int
        Step, state and action.

    Returns
    -------
    float
    """
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
    allowed: Bools,
    v_next: Floats,
    h: int,
    s: int,
) -> float:
    """Return the value V_h(s) of a policy.

    Parameters
    ----------
    ptr, succ, prob, rewards : ndarray
        Arrays of an `MDP`.
    actions : ndarray of int32, shape (H, S)
        Action at each (step, state) where the policy does not explore.
    explore : ndarray of bool, shape (H, S, A) or (0, 0, 0)
        Mask of actions to explore. If the mask is True for some actions of (h, s), the policy draws
        one of these actions uniformly. For a deterministic policy, pass `NO_EXPLORATION`, which has
        shape (0, 0, 0).
    epsilon : float
        Probability of drawing uniformly from all actions in a (step, state) for which the mask is
        False for all actions. Used only if `explore` has shape (H, S, A).
    allowed : ndarray of bool, shape (H, S, A) or (0, 0, 0)
        Mask of the actions from which a uniform action is drawn with probability `epsilon`.
        `ALL_ALLOWED`, of shape (0, 0, 0), means all actions.
    v_next : ndarray, shape (S,)
        Values of the next step, V_{h+1}.
    h, s : int
        Step and state.

    Returns
    -------
    float
    """
    if explore.size > 0:
        total = 0.0
        explored = 0
        for a in range(explore.shape[2]):
            if explore[h, s, a]:
                total += q_value(ptr, succ, prob, rewards, v_next, h, s, a)
                explored += 1
        if explored > 0:
            return total / explored
        if epsilon > 0.0:
            for a in range(explore.shape[2]):
                if allowed.size == 0 or allowed[h, s, a]:
                    total += q_value(ptr, succ, prob, rewards, v_next, h, s, a)
                    explored += 1
            greedy = q_value(ptr, succ, prob, rewards, v_next, h, s, actions[h, s])
            return (1.0 - epsilon) * greedy + epsilon * (total / explored)
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
    allowed: Bools,
    v: Floats,
) -> None:
    """Fill `v`, shape (H + 1, S), with the values of a policy.

    `ptr`, `succ`, `prob` and `rewards` are the arrays of an `MDP`. `actions`, `explore`, `epsilon`
    and `allowed` define the policy as in `cell_value`.
    """
    H, S = actions.shape
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            v[h, s] = cell_value(
                ptr, succ, prob, rewards, actions, explore, epsilon, allowed, v[h + 1], h, s
            )


@kernel
def evaluate_stochastic(
    ptr: Ints, succ: Successors, prob: Floats, rewards: Floats, weights: Floats, v: Floats
) -> None:
    """Fill `v`, shape (H + 1, S), with the values of a stochastic policy.

    `weights[h, s, a]` is the probability of action a in state s at step h. `ptr`, `succ`, `prob`
    and `rewards` are the arrays of an `MDP`.
    """
    H, S, A = weights.shape
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            total = 0.0
            for a in range(A):
                total += weights[h, s, a] * q_value(ptr, succ, prob, rewards, v[h + 1], h, s, a)
            v[h, s] = total


@kernel
def maximise(
    ptr: Ints, succ: Successors, prob: Floats, rewards: Floats, allowed: Bools, v: Floats
) -> None:
    """Fill `v`, shape (H + 1, S), with the optimal values V*, the maxima over allowed actions.

    `ptr`, `succ`, `prob` and `rewards` are the arrays of an `MDP`. `allowed` is a mask of shape
    (H, S, A), or `ALL_ALLOWED`.
    """
    _, S, A = rewards.shape
    H = v.shape[0] - 1
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(S):
            top = -math.inf
            for a in range(A):
                if allowed.size == 0 or allowed[h, s, a]:
                    top = max(top, q_value(ptr, succ, prob, rewards, v[h + 1], h, s, a))
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
    maximise(world.ptr, world.succ, world.prob, world.rewards, as_mask(world.shape.allowed), v)
    return v


def as_mask(allowed: Bools | None) -> Bools:
    """Return a copy of the mask of `allowed` actions, or `ALL_ALLOWED` if it is None.

    Compiled functions do not accept None.
    """
    return ALL_ALLOWED if allowed is None else allowed.copy()


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
    arrays = (world.ptr, world.succ, world.prob, world.rewards)
    if not isinstance(policy, Policy):
        table = _policy_array(policy)
        if table.ndim == 3:
            evaluate_stochastic(*arrays, _check_probabilities(world.shape, table), v)
            return v
        policy = Policy(table)
    check_policy(world.shape, policy)
    actions = np.array(policy.actions, np.int32)  # a copy, since kernels take writable arrays
    explore = NO_EXPLORATION if policy.explore is None else np.array(policy.explore, np.bool_)
    evaluate(*arrays, actions, explore, policy.epsilon, as_mask(policy.allowed), v)
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
        if world.shape.is_restricted:
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
