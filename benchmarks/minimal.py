"""Smallest program for one setting: a lower limit of the cost of planning in a small world.

The learner is that of `bl.simulate` with `UCBVI_BF(preset="two_term")`, active and without delay,
and draws the same random numbers, so that the regret must agree. The program can do nothing else:
it has no delays, no other base, no unknown rewards, no exploration, no lists that grow and no
checks. It computes only rows with new observations and rows with a successor whose value changed.
"""

import math

import numpy as np

import belated as bl
from belated.compiled import kernel, lowest_bit
from belated.exact.incremental import world_arrays
from belated.exact.values import optimal_table
from belated.randomness import TRANSITION, uniform
from dense import DELTA, evaluate


def regret(
    world: bl.MDP, *, episodes: int, scale: float = 1.0, seed: int = 0, plans: bool = True
) -> float:
    """Return the regret of a run.

    Parameters
    ----------
    world : bl.MDP
        Homogeneous world with first state 0, two actions, at most 32 states and at most two
        successors of each row.
    episodes : int
        Number of episodes.
    scale : float
        Scale of the bonus.
    seed : int
        Seed of the run.
    plans : bool
        Whether to plan. If False, the first policy is played in all episodes.

    Returns
    -------
    float
        Cumulative regret after the last episode.
    """
    H, S, A = world.shape.table
    assert A == 2
    assert S <= 32
    assert np.diff(world.ptr).max() <= 2
    log = math.log(5 * S * A * episodes * H / DELTA)
    v_star = optimal_table(world)
    rewards = world.reward_table()
    # Before the first observation: Q_h(s, a) = min(H - h, R + H - h - 1), with h = 0 .. H - 1.
    cap = np.arange(H, 0, -1.0)[:, None, None]
    q = np.minimum(cap, rewards + cap - 1)
    v, v_pi = np.zeros((2, H + 1, S))
    v[:H] = q.max(axis=2)
    actions = q.argmax(axis=2)
    evaluate(world.ptr, world.succ, world.prob, rewards, actions, v_pi)
    first = world.ptr[:-1]
    successors = np.column_stack((world.succ[first], world.succ[world.ptr[1:] - 1]))
    values = np.zeros(episodes)
    play(
        (world.ptr, world.succ, world.prob, world.cum, rewards),
        successors.astype(np.int64),
        world_arrays(world, v_star).depends,
        (np.uint64(seed), scale, 2 * log, H * log, plans),
        np.zeros((H, 2 * S)),
        np.zeros((H, 2 * S, 2)),
        np.zeros((H, S), np.int64),
        q.reshape(H, 2 * S),
        v,
        actions,
        v_pi,
        np.zeros(H, np.int64),
        values,
    )
    return float(np.add.accumulate(v_star[0, 0] - values)[-1])


@kernel
def play(world, successors, depends, options, n, m, readers, q, v, actions, v_pi, path, values):
    """Play one episode for each entry of `values`, and store V^pi_1(s_1) of its policy there.

    Parameters
    ----------
    world
        Tuple of ptr, succ, prob, cum of a homogeneous MDP, and mean rewards (H, S, 2).
    successors
        First and last successor of each row, (2 S, 2).
    depends
        See `WorldArrays`.
    options
        Tuple of seed, scale, 2 L, H L, and whether to plan.
    n, m
        Visit counts (H, 2 S), and counts of the two successors (H, 2 S, 2), initially zero.
    readers
        Rows with each state as an observed successor, as bits, (H, S), initially zero.
    q, v, actions
        First plan: (H, 2 S), (H + 1, S) and (H, S).
    v_pi
        Value of the first policy, (H + 1, S).
    path
        Working memory for the rows of an episode, (H).
    values
        Receives the value of each policy, (K).
    """
    ptr, succ, prob, cum, rewards = world
    seed, scale, variance_factor, lower_order, plans = options
    H, S = actions.shape
    for k in range(values.size):
        if k > 0 and plans:
            moved = 0  # states of the next step whose value changed
            effect = False
            for h in range(H - 1, -1, -1):
                rows = 1 << path[h]
                while moved != 0:
                    rows |= readers[h, lowest_bit(moved)]
                    moved &= moved - 1
                rest = float(H - h - 1)
                while rows != 0:
                    i = lowest_bit(rows)
                    rows &= rows - 1
                    s = i >> 1
                    x, y = v[h + 1, successors[i, 0]], v[h + 1, successors[i, 1]]
                    # Same rounding as in the library.
                    mean = (0.0 + m[h, i, 0] * x + m[h, i, 1] * y) / n[h, i]
                    x, y = x - mean, y - mean
                    squares = 0.0 + m[h, i, 0] * (x * x) + m[h, i, 1] * (y * y)
                    bonus = scale * (math.sqrt(variance_factor * squares) + lower_order) / n[h, i]
                    new = min(rest + 1.0, rewards[h, s, i & 1] + mean + min(rest, bonus))
                    if new == q[h, i]:
                        continue
                    q[h, i] = new
                    best = int(q[h, 2 * s + 1] > q[h, 2 * s])
                    if best != actions[h, s]:
                        actions[h, s] = best
                        effect |= depends[h * S + s]
                    top = max(new, q[h, i ^ 1])
                    if top != v[h, s]:
                        v[h, s] = top
                        moved |= 1 << s
            if effect:
                evaluate(ptr, succ, prob, rewards, actions, v_pi)
        values[k] = v_pi[0, 0]
        s = 0
        for h in range(H):
            i = 2 * s + actions[h, s]
            at, last = 0, ptr[i + 1] - ptr[i] - 1
            if last > 0:
                at = int(uniform(seed, TRANSITION, k + 1, h) >= cum[ptr[i]])
            path[h] = i
            n[h, i] += 1.0
            m[h, i, at] += 1.0
            s = successors[i, at]
            readers[h, s] |= 1 << i
