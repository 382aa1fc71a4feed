"""Exact value of a policy, recomputed only where it changed, to the same bits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats, Ints
from belated.exact.values import cell_value
from belated.mdp.model import DRAWS, MDP
from belated.worklist import END, Worklist, put, take


class World(NamedTuple):
    """A world as plain arrays, with links from a state back to the rows that may lead to it."""

    ptr: Ints
    succ: NDArray[np.int32]
    prob: Floats
    cum: Floats
    rewards: Floats
    draws: int  # an index into DRAWS
    start_cum: Floats
    back_ptr: Ints  # (stages * S + 1)
    back_row: NDArray[np.int32]  # rows within their stage, s * A + a


def arrays_of(world: MDP) -> World:
    """Return the arrays of `world`."""
    S, A = world.shape.states, world.shape.actions
    rows = np.repeat(np.arange(world.ptr.size - 1), np.diff(world.ptr))
    stage, row = np.divmod(rows, S * A)
    key = stage * S + world.succ
    order = np.argsort(key, kind="stable")
    back_ptr = np.zeros(world.stages * S + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=world.stages * S), out=back_ptr[1:])
    return World(
        world.ptr,
        world.succ,
        world.prob,
        world.cum,
        world.rewards,
        DRAWS.index(world.reward_draws),
        world.start_cum,
        back_ptr,
        row[order].astype(np.int32),
    )


@inlined
def plays(
    actions: NDArray[np.int32], explore: Bools, epsilon: float, h: int, s: int, a: int
) -> bool:
    """Return whether a policy may play an action.

    Parameters
    ----------
    actions, explore, epsilon
        The policy, see `cell_value`.
    h, s, a : int
        Step, state and action.

    Returns
    -------
    bool
        Whether the action has a positive probability.
    """
    if actions[h, s] == a or epsilon > 0.0:
        return True
    return explore.size > 0 and explore[h, s, a]


@inlined
def refresh(
    world: World,
    actions: NDArray[np.int32],
    explore: Bools,
    epsilon: float,
    v: Floats,
    h: int,
    s: int,
    moved: NDArray[np.int32],
    count: int,
) -> int:
    """Recompute the value of one cell and list its state if the value changed.

    Parameters
    ----------
    world : World
        World.
    actions, explore, epsilon
        The policy, see `cell_value`.
    v : Floats
        (H + 1, S) values, changed in place.
    h, s : int
        Step and state.
    moved : NDArray
        States whose value changed.
    count : int
        Number of them so far.

    Returns
    -------
    int
        New number of states in `moved`.
    """
    new = cell_value(
        world.ptr, world.succ, world.prob, world.rewards, actions, explore, epsilon, v[h + 1], h, s
    )
    if new == v[h, s]:
        return count
    v[h, s] = new
    moved[count] = s
    return count + 1


@kernel
def reevaluate(
    world: World,
    actions: NDArray[np.int32],
    explore: Bools,
    epsilon: float,
    changed: Worklist,
    v: Floats,
    moved: NDArray[np.int32],
) -> None:
    """Update the values of a policy that has changed in some cells.

    Parameters
    ----------
    world : World
        World.
    actions, explore, epsilon
        The policy, see `cell_value`.
    changed : Worklist
        Cells h * S + s where the policy has changed, by step; emptied.
    v : Floats
        (H + 1, S) values, changed in place.
    moved : NDArray
        (S) working memory.
    """
    H, S = actions.shape
    A = world.rewards.shape[2]
    stages = (world.back_ptr.size - 1) // S
    count = 0  # states of step h + 1 whose value moved
    for h in range(H - 1, -1, -1):
        # Where many values changed, recompute the whole step: cheaper than following links.
        if count * A >= S:
            while take(changed, h) != END:
                pass
            count = 0
            for s in range(S):
                count = refresh(world, actions, explore, epsilon, v, h, s, moved, count)
            continue
        # Otherwise list the cells with a changed action or a changed successor ...
        for i in range(count):
            at = (h if stages > 1 else 0) * S + moved[i]
            for j in range(world.back_ptr[at], world.back_ptr[at + 1]):
                s = world.back_row[j] // A
                if plays(actions, explore, epsilon, h, s, world.back_row[j] - s * A):
                    put(changed, h, h * S + s)
        # ... and recompute those.
        count = 0
        cell = take(changed, h)
        while cell != END:
            count = refresh(world, actions, explore, epsilon, v, h, cell - h * S, moved, count)
            cell = take(changed, h)
