"""Common implementation, compiled: dense counts, and full backward induction in every episode.

The learner is that of `bl.simulate` with `UCBVI_BF(preset="two_term")`, active and without delay,
and draws the same random numbers, so that the regret must agree. Only planning is dense: play and
policy evaluation use lists of successors, so that the comparison covers planning only.

Sums run over all states for every row. `observed_only` skips rows without observations, with the
same result.
"""

import math

import numpy as np

import belated as bl
from belated.compiled import kernel
from belated.exact.values import optimal_table
from belated.randomness import TRANSITION, uniform

DELTA = bl.UCBVI_BF().delta


def regret(
    world: bl.MDP, *, episodes: int, scale: float = 1.0, seed: int = 0, observed_only: bool = False
) -> float:
    """Return the regret of a run.

    Parameters
    ----------
    world : bl.MDP
        Homogeneous world with first state 0.
    episodes : int
        Number of episodes.
    scale : float
        Scale of the bonus.
    seed : int
        Seed of the run.
    observed_only : bool
        Whether to skip the sums of rows without observations.

    Returns
    -------
    float
        Cumulative regret after the last episode.
    """
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
        observed_only,
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
    variance_factor,
    lower_order,
    observed_only,
    n,
    m,
    v,
    actions,
    v_pi,
    values,
):
    """Play one episode for each entry of `values`, and store V^pi_1(s_1) of its policy there.

    Parameters
    ----------
    ptr, succ, prob, cum
        Transition arrays of a homogeneous MDP.
    rewards
        Mean rewards, (H, S, A).
    seed
        Seed of the run, uint64.
    scale, variance_factor, lower_order, observed_only
        See `plan`.
    n, m
        Visit counts (H, S, A) and transition counts (H, S, A, S), initially zero.
    v, actions, v_pi
        Working memory: (H + 1, S), (H, S) and (H + 1, S).
    values
        Receives the value of each policy, (K).
    """
    H, _, A = n.shape
    for k in range(values.size):
        plan(rewards, scale, variance_factor, lower_order, observed_only, n, m, v, actions)
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
def plan(rewards, scale, variance_factor, lower_order, observed_only, n, m, v, actions):
    """Compute values and greedy actions by backward induction, with bonus sqrt(2 L Var/N) + H L/N.

    Parameters
    ----------
    rewards
        Mean rewards, (H, S, A).
    scale, variance_factor, lower_order
        Scale of the bonus, 2 L and H L.
    observed_only
        Whether to skip the sums of rows without observations.
    n, m
        Visit and transition counts, (H, S, A) and (H, S, A, S).
    v, actions
        Receive the values (H + 1, S) and the actions (H, S).
    """
    H, S, A = n.shape
    for h in range(H - 1, -1, -1):
        rest = float(H - h - 1)
        for s in range(S):
            top = -1.0
            for a in range(A):
                visits = max(1.0, n[h, s, a])
                mean = 0.0
                squares = 0.0
                if n[h, s, a] > 0 or not observed_only:
                    for y in range(S):
                        mean += m[h, s, a, y] * v[h + 1, y]
                    mean /= visits
                    for y in range(S):
                        gap = v[h + 1, y] - mean
                        squares += m[h, s, a, y] * (gap * gap)
                bonus = rest
                if n[h, s, a] > 0:
                    # Same rounding as in the library, so that near ties have the same result.
                    bonus = scale * (math.sqrt(variance_factor * squares) + lower_order) / visits
                q = min(rest + 1.0, rewards[h, s, a] + mean + min(rest, bonus))
                if q > top:
                    top = q
                    actions[h, s] = a
            v[h, s] = top


@kernel
def evaluate(ptr, succ, prob, rewards, actions, v):
    """Store the exact values of the policy `actions` in `v`, (H + 1, S).

    `ptr`, `succ`, `prob` and `rewards` are as in `play`.
    """
    H, S, A = rewards.shape
    for h in range(H - 1, -1, -1):
        for s in range(S):
            a = actions[h, s]
            total = 0.0
            for j in range(ptr[s * A + a], ptr[s * A + a + 1]):
                total += prob[j] * v[h + 1, succ[j]]
            v[h, s] = rewards[h, s, a] + total
