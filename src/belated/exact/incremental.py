"""Incremental evaluation of a policy after its actions have changed in a few cells.

A cell is a (step, state). Only the exact values that can have changed are recomputed. The result is
bit-identical to a full evaluation with `belated.exact.values`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats, Ints
from belated.exact.values import as_mask, cell_value, q_value
from belated.mdp.model import DRAWS, MDP, row_of
from belated.worklist import END, Worklist, put, take


class WorldArrays(NamedTuple):
    """Arrays of an `MDP`, and an index of the rows from which each state can be reached.

    The rows of stage g that have state y as a possible successor are
    `back_row[back_ptr[i] : back_ptr[i + 1]]`, where i = g * S + y. These rows are numbered within
    their stage, as s * A + a.
    """

    ptr: Ints  # this field and the next four: see MDP
    succ: NDArray[np.int32]
    prob: Floats
    cum: Floats
    rewards: Floats
    draws: int  # index into DRAWS
    start_cum: Floats  # see MDP
    allowed: Bools  # (H, S, A) mask of the allowed actions; (0, 0, 0) if all are allowed
    back_ptr: Ints  # (stages * S + 1)
    back_row: NDArray[np.int32]  # rows within their stage, s * A + a
    depends: Bools  # (H * S) whether V^pi_h(s) depends on pi, the actions of a policy


def world_arrays(world: MDP, v_star: Floats) -> WorldArrays:
    """Return the arrays of `world` in the form that compiled functions take.

    `v_star` are its optimal values, of shape (H + 1, S).
    """
    allowed = as_mask(world.shape.allowed)
    depends = np.zeros(world.shape.horizon * world.shape.states, np.bool_)
    find_dependent(world.ptr, world.succ, world.prob, world.rewards, allowed, v_star, depends)
    S, A = world.shape.states, world.shape.actions
    rows = np.repeat(np.arange(world.ptr.size - 1), np.diff(world.ptr))
    stage, row = np.divmod(rows, S * A)
    key = stage * S + world.succ
    order = np.argsort(key, kind="stable")
    back_ptr = np.zeros(world.stages * S + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=world.stages * S), out=back_ptr[1:])
    return WorldArrays(
        world.ptr,
        world.succ,
        world.prob,
        world.cum,
        world.rewards,
        DRAWS.index(world.reward_draws),
        world.start_cum,
        allowed,
        back_ptr,
        row[order].astype(np.int32),
        depends,
    )


@kernel
def find_dependent(
    ptr: Ints,
    succ: NDArray[np.int32],
    prob: Floats,
    rewards: Floats,
    allowed: Bools,
    v_star: Floats,
    depends: Bools,
) -> None:
    """Find the cells whose value depends on the actions of the policy.

    The value does not depend on them if it is the same for each action, to the bit, and if this
    holds for all possible successors, too. It is then the optimal value.

    Parameters
    ----------
    ptr, succ, prob, rewards : ndarray
        Arrays of an `MDP`.
    allowed : Bools
        Mask of the allowed actions; see `WorldArrays`.
    v_star : Floats
        (H + 1, S) optimal values.
    depends : Bools
        (H * S) receives the result for each cell h * S + s.
    """
    A = rewards.shape[2]
    H, S = v_star.shape[0] - 1, v_star.shape[1]
    for h in range(H - 1, -1, -1):
        for s in range(S):
            found = False
            for a in range(A):
                if found or (allowed.size > 0 and not allowed[h, s, a]):
                    continue
                found = q_value(ptr, succ, prob, rewards, v_star[h + 1], h, s, a) != v_star[h, s]
                row = row_of(ptr, rewards, h, s, a)
                for j in range(ptr[row], ptr[row + 1]):
                    if h < H - 1 and depends[(h + 1) * S + succ[j]]:
                        found = True
                        break
            depends[h * S + s] = found


@inlined
def has_effect(world: WorldArrays, explore: Bools, epsilon: float, changed: Worklist) -> bool:
    """Return whether a change of the policy in the cells listed in `changed` can change its value.

    `world` is the world, and `explore` and `epsilon` are parts of the policy; see `cell_value`. The
    value of a stochastic policy is a mean over actions, which is rounded even if all are equal.
    """
    stochastic = explore.size > 0 or epsilon > 0.0
    effect = False
    for h in range(changed.head.size):
        cell = int(changed.head[h])
        while cell != END:
            effect |= stochastic or world.depends[cell]
            cell = int(changed.after[cell])
    return effect


@inlined
def may_play(
    actions: NDArray[np.int32], explore: Bools, epsilon: float, h: int, s: int, a: int
) -> bool:
    """Return False if an action certainly has probability 0 under a policy, otherwise True.

    Parameters
    ----------
    actions, explore, epsilon
        Policy; see `cell_value`.
    h, s, a : int
        Step, state and action.

    Returns
    -------
    bool
        False only if the action has probability 0. True may be returned for an action with
        probability 0 as well; this costs time, but does not change values.
    """
    if actions[h, s] == a or epsilon > 0.0:
        return True
    return explore.size > 0 and explore[h, s, a]


@inlined
def update_cell(
    world: WorldArrays,
    actions: NDArray[np.int32],
    explore: Bools,
    epsilon: float,
    v: Floats,
    h: int,
    s: int,
    updated: NDArray[np.int32],
    count: int,
) -> int:
    """Recompute the value of cell (h, s) and, if it changed, append s to the list `updated`.

    Parameters
    ----------
    world : WorldArrays
        World in which the policy is evaluated.
    actions, explore, epsilon
        Policy; see `cell_value`.
    v : Floats
        (H + 1, S) values, changed in place.
    h, s : int
        Step and state.
    updated : NDArray
        List of the states of step h whose value has changed; changed in place.
    count : int
        Number of states in `updated` before the call.

    Returns
    -------
    int
        Number of states in `updated` after the call.
    """
    new = cell_value(
        world.ptr,
        world.succ,
        world.prob,
        world.rewards,
        actions,
        explore,
        epsilon,
        world.allowed,
        v[h + 1],
        h,
        s,
    )
    if new == v[h, s]:
        return count
    v[h, s] = new
    updated[count] = s
    return count + 1


@kernel
def reevaluate(
    world: WorldArrays,
    actions: NDArray[np.int32],
    explore: Bools,
    epsilon: float,
    changed: Worklist,
    v: Floats,
    updated: NDArray[np.int32],
) -> None:
    """Update the values of a policy after its actions have changed in some cells.

    Parameters
    ----------
    world : WorldArrays
        World in which the policy is evaluated.
    actions, explore, epsilon
        Policy after the change; see `cell_value`.
    changed : Worklist
        Cells h * S + s in which the policy has changed, grouped by step h; empty after the call.
    v : Floats
        (H + 1, S) values of the policy before the change; updated in place.
    updated : NDArray
        Working memory of length S.
    """
    H, S = actions.shape
    A = world.rewards.shape[2]
    stages = (world.back_ptr.size - 1) // S
    count = 0  # states of step h + 1 whose value has changed, listed in `updated`
    for h in range(H - 1, -1, -1):
        # If many values of step h + 1 changed, recompute all of step h and empty its worklist.
        if count * A >= S:
            while take(changed, h) != END:
                pass
            count = 0
            if explore.size > 0:
                for s in range(S):
                    count = update_cell(world, actions, explore, epsilon, v, h, s, updated, count)
                continue
            for s in range(S):
                new = q_value(
                    world.ptr,
                    world.succ,
                    world.prob,
                    world.rewards,
                    v[h + 1],
                    h,
                    s,
                    actions[h, s],
                )
                updated[count] = s
                count += new != v[h, s]
                v[h, s] = new
            continue
        # Otherwise add the cells with a changed successor to those with a changed action ...
        for i in range(count):
            at = (h if stages > 1 else 0) * S + updated[i]
            for j in range(world.back_ptr[at], world.back_ptr[at + 1]):
                s = world.back_row[j] // A
                if may_play(actions, explore, epsilon, h, s, world.back_row[j] - s * A):
                    put(changed, h, h * S + s)
        # ... and recompute these cells.
        count = 0
        cell = take(changed, h)
        while cell != END:
            count = update_cell(
                world, actions, explore, epsilon, v, h, cell - h * S, updated, count
            )
            cell = take(changed, h)
