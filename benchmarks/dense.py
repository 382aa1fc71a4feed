"""The usual way, compiled: dense counts, and backward induction over everything at every episode.

The same learner as `bl.simulate` with `UCBVI_BF(preset="two_term")`, active and without delay, in
the same random world: the regret must agree. Only planning is dense. The world is played, and the
policy valued, along lists of successors, so that the comparison is about planning alone.

The sums are over every state for every row, as is usual. `seen_only` skips them for rows never
seen, with the same result.
"""

import math

import numpy as np

import belated as bl
from belated.compiled import kernel
from belated.exact.values import optimal_table
from belated.randomness import TRANSITION, uniform

DELTA = bl.UCBVI_BF().delta


def regret(
    world: bl.MDP, *, episodes: int, scale: float = 1.0, seed: int = 0, seen_only: bool = False
) -> float:
    """The regret of a run in a homogeneous world whose first state is 0."""
    H, S, A = world.shape.table
    log = math.log(5 * S * A * episodes * H / DELTA)
    values = np.zeros(episodes)
    play(
        world.ptr,
        world.succ,
        world.prob,
        world.cum,
        world.reward_table(),
        np.uint64(seed),
        scale,
        2 * log,
        H * log,
        seen_only,
        np.zeros((H, S, A)),
        np.zeros((H, S, A, S)),
        np.zeros((H + 1, S)),
        np.zeros((H, S), np.int64),
        np.zeros((H + 1, S)),
        values,
    )
    return float(np.add.accumulate(optimal_table(world)[0, 0] - values)[-1])


@kernel
def play(
    ptr,
    succ,
    prob,
    cum,
    rewards,
    seed,
    scale,
    spread,
    lower,
    seen_only,
    n,
    m,
    v,
    actions,
    v_pi,
    values,
):
    """Play one episode for each of `values`, which become V^pi_1 of the policies played."""
    H, _, A = n.shape
    for k in range(values.size):
        plan(rewards, scale, spread, lower, seen_only, n, m, v, actions)
        evaluate(ptr, succ, prob, rewards, actions, v_pi)
        values[k] = v_pi[0, 0]
        s = 0
        for h in range(H):
            a = actions[h, s]
            u = uniform(seed, TRANSITION, k + 1, h)
            at = ptr[s * A + a]
            while u >= cum[at]:
                at += 1
            n[h, s, a] += 1
            m[h, s, a, succ[at]] += 1
            s = np.int64(succ[at])


@kernel
def plan(rewards, scale, spread, lower, seen_only, n, m, v, actions):
    """Backward induction with the bonus sqrt(2 L Var / N) + H L / N, or all that is left."""
    H, S, A = n.shape
    for h in range(H - 1, -1, -1):
        rest = float(H - h - 1)
        for s in range(S):
            top = -1.0
            for a in range(A):
                visits = max(1.0, n[h, s, a])
                mean = 0.0
                squares = 0.0
                if n[h, s, a] > 0 or not seen_only:
                    for y in range(S):
                        mean += m[h, s, a, y] * v[h + 1, y]
                    mean /= visits
                    for y in range(S):
                        gap = v[h + 1, y] - mean
                        squares += m[h, s, a, y] * (gap * gap)
                bonus = rest
                if n[h, s, a] > 0:
                    # Rounded as the library does, or actions that are all but tied part ways.
                    bonus = scale * (math.sqrt(spread * squares) + lower) / visits
                q = min(rest + 1.0, rewards[h, s, a] + mean + min(rest, bonus))
                if q > top:
                    top = q
                    actions[h, s] = a
            v[h, s] = top


@kernel
def evaluate(ptr, succ, prob, rewards, actions, v):
    """Fill v with the exact values of the policy."""
    H, S, A = rewards.shape
    for h in range(H - 1, -1, -1):
        for s in range(S):
            a = actions[h, s]
            total = 0.0
            for j in range(ptr[s * A + a], ptr[s * A + a + 1]):
                total += prob[j] * v[h + 1, succ[j]]
            v[h, s] = rewards[h, s, a] + total
