"""The exact value of a policy, computed anew only where it changed, to the same bits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import END, Buckets, put, take
from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats, Ints
from belated.exact.values import cell_value
from belated.mdp.model import DRAWS, MDP


class World(NamedTuple):
    """A world as plain arrays, with the way back from a state to the rows that may lead to it."""

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
    """The arrays of a world."""
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
    """Whether the policy may play a at (h, s)."""
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
    """Compute one cell; if it moves, add its state to the `count` that have."""
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
    changed: Buckets,
    v: Floats,
    moved: NDArray[np.int32],
) -> None:
    """Bring v, (H + 1, S), up to date, given the cells h * S + s where the policy has changed.

    Empties `changed`; `moved` is working space for S states.
    """
    H, S = actions.shape
    A = world.rewards.shape[2]
    stages = (world.back_ptr.size - 1) // S
    count = 0  # states of step h + 1 whose value moved
    for h in range(H - 1, -1, -1):
        # Where much has moved, the way back costs more than to compute the whole stage.
        if count * A >= S:
            while take(changed, h) != END:
                pass
            count = 0
            for s in range(S):
                count = refresh(world, actions, explore, epsilon, v, h, s, moved, count)
            continue
        for i in range(count):
            at = (h if stages > 1 else 0) * S + moved[i]
            for j in range(world.back_ptr[at], world.back_ptr[at + 1]):
                s = world.back_row[j] // A
                if plays(actions, explore, epsilon, h, s, world.back_row[j] - s * A):
                    put(changed, h, h * S + s)
        count = 0
        cell = take(changed, h)
        while cell != END:
            count = refresh(world, actions, explore, epsilon, v, h, cell - h * S, moved, count)
            cell = take(changed, h)
