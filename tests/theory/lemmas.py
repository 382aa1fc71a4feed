"""Both sides of Lemmas 2, 3 and 5, computed for given paths and delays."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import belated as bl
from belated.delays import Law
from belated.episode import Ints, Shape
from belated.mdp.play import play
from belated.theory.bonus import NUMERATORS
from belated.theory.lemmas import delay_log, first_uses


class Paths(NamedTuple):
    """Paths of K episodes, and the delays of their feedback."""

    states: Any  # (K, H) or (K, H + 1)
    actions: Any  # (K, H)
    delays: Any  # (K)

    def triples(self, shape: Shape) -> Ints:
        """Return the index of the triple (h, s, a) visited at each step; shape (K, H)."""
        states = np.asarray(self.states)[:, : shape.horizon]
        return (states + np.arange(shape.horizon) * shape.states) * shape.actions + self.actions

    def arrivals(self) -> list[Ints]:
        """Return the episodes whose feedback is first usable at the start of k, for each k."""
        first_use = first_uses(self.delays)
        return [np.flatnonzero(first_use == k) for k in range(1, first_use.size + 1)]

    def counts(self, shape: Shape) -> Ints:
        """Return N' of each visited triple at the start of its episode; shape (K, H)."""
        triples = self.triples(shape)
        n = np.zeros(shape.horizon * shape.states * shape.actions, np.int64)
        found = np.zeros_like(triples)
        for k, arrived in enumerate(self.arrivals()):
            np.add.at(n, triples[arrived], 1)
            found[k] = n[triples[k]]
        return found


def played(world: bl.MDP, law: Law, *, episodes: int, seed: int, **setting: Any) -> Any:
    """Return a traced run, and the paths that it played."""
    run = bl.simulate(world, delay=law, episodes=episodes, seed=seed, trace=True, **setting)
    assert run.policies is not None
    paths = [
        play(world, bl.Policy(policy), seed=seed, episode=k)
        for k, policy in enumerate(run.policies, start=1)
    ]
    states = np.array([path.states for path in paths])
    actions = np.array([path.actions for path in paths])
    return run, Paths(states, actions, law.draw(seed=seed, episodes=episodes))


def lemma_2(base: str, shape: Shape, paths: Paths, delta: float = 0.05) -> float:
    """Return the bound of Lemma 2 on the regret of active updating.

    R_K <= 6 (H + C) sqrt(T x) + 6 sum (beta^+ + 3 C H^2 S L / max(1, N'))

    The sum is over all steps; beta^+ = min(H', B_1 / sqrt(N') + B_2 / N') is the bonus, H' for a
    triple without observations.
    """
    K = len(paths.delays)
    H, S, A = shape.table
    C, slope, flat, B2 = NUMERATORS[base](shape, K, delta / 5)
    rest = np.arange(H - 1, -1, -1.0)  # H' at each step
    lower = 3 * C * H * H * S * math.log(S * S * A * H * math.pi * math.pi / (6 * delta / 5))
    n = paths.counts(shape)
    seen = np.maximum(n, 1)
    bonus = np.where(n > 0, (slope * rest + flat) / np.sqrt(seen) + B2 / seen, np.inf)
    total = (np.minimum(rest, bonus) + lower / seen).sum()
    return float(6 * (H + C) * math.sqrt(K * H * delay_log(K, delta)) + 6 * total)


def visit_sum(shape: Shape, paths: Paths, power: float) -> float:
    """Return the sum of max(1, N')^-power over all steps, which Lemma 3 bounds."""
    return float((np.maximum(1, paths.counts(shape)) ** -float(power)).sum())


def lazy_bound(total: float, alpha: float, power: float) -> float:
    """Return the bound of Lemma 5 on `lazy_sum`, where `total` is N_J."""
    factor = 1 + 1 / alpha
    if power == 0.5:
        return (1 + math.sqrt(2) * factor) * math.sqrt(total)
    return factor * (1 + math.log(total))


def lazy_sum(observed: Sequence[float], power: float) -> float:
    """Return the sum of n_j / N_{j-1}^power, where N_j = max(1, n_1 + ... + n_j)."""
    totals = np.maximum(1.0, np.concatenate(([0.0], np.cumsum(observed)[:-1])))
    return float((np.asarray(observed) / totals**power).sum())


class EpochCounts(NamedTuple):
    """Counts of each triple in each epoch of lazy updating, for the premise of Lemma 5.

    The premise is n_j <= N'_{k_j} / alpha. n_j is the number of visits in the episodes of epoch j
    that have a short delay, and N'_{k_j} the count at the start of the epoch. As printed, the first
    episode of an epoch is left out, and a delay is short if k + tau_k < k_{j+1}. As repaired, the
    last one is left out, and a delay is short if k + tau_k < k_{j+1} - 1.
    """

    starts: Ints  # (J) first episode k_j
    short: Ints  # (J, HSA) n_j
    before: Ints  # (J, HSA) N'_{k_j}
    long: Ints  # (J) number of episodes with a delay that is not short

    def violations(self, alpha: float) -> Any:
        """Return for each epoch whether the premise of Lemma 5 is violated."""
        visited = np.maximum(self.short, 1)  # not 0, whose product with infinity is undefined
        return ((self.short > 0) & (alpha * visited > self.before)).any(axis=1)


def epoch_counts(shape: Shape, paths: Paths, alpha: float, *, printed: bool = False) -> EpochCounts:
    """Return the epochs of Algorithm 2 for these paths, and their counts."""
    triples, K = paths.triples(shape), len(paths.delays)
    rows = shape.horizon * shape.states * shape.actions
    count, before, starts = np.zeros(rows, np.int64), [np.zeros(rows, np.int64)], [1]
    for k, arrived in enumerate(paths.arrivals(), start=1):
        np.add.at(count, triples[arrived], 1)
        new = count > before[-1]
        if (alpha * (count - before[-1])[new] >= before[-1][new]).any():
            starts.append(k)
            before.append(count.copy())
    ends = [*starts[1:], K + 1]  # k_{j+1}
    usable = np.arange(1, K + 1) + np.minimum(paths.delays, K)  # k + tau_k
    short, long = np.zeros((len(starts), rows), np.int64), np.zeros(len(starts), np.int64)
    for j, (start, end) in enumerate(zip(starts, ends, strict=True)):
        episodes = np.arange(start + 1, end) if printed else np.arange(start, end - 1)
        is_short = usable[episodes - 1] < (end if printed else end - 1)
        np.add.at(short[j], triples[episodes[is_short] - 1], 1)
        long[j] = np.count_nonzero(~is_short)
    return EpochCounts(np.array(starts), short, np.array(before), long)
