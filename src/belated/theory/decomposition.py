"""Lemma 2: bound on the regret of an optimistic base by sums over the steps of a run."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Ints, Shape
from belated.theory.bonus import NUMERATORS, check_base
from belated.theory.missing import delay_log
from belated.theory.paths import arrivals_of, triples_of
from belated.theory.validation import check_delta


def lemma_2(
    base: str,
    shape: Shape,
    *,
    states: ArrayLike,
    actions: ArrayLike,
    delays: Sequence[int] | Ints,
    delta: float = 0.05,
) -> float:
    """Return the bound of Lemma 2 on the regret of active updating, for given paths and delays.

        R_K <= 6 (H + C) sqrt(T x) + 6 sum (beta^+ + 3 C H^2 S L / max(1, N'))

    R_K is the regret after K episodes. The sum is over all steps of all episodes. N' is the number
    of observed visits, at the start of the episode, of the triple that is visited at the step. The
    bonus is beta^+ = min(H', B_1 / sqrt(N') + B_2 / N'), or H' for a triple without observations
    (Eq. 5), where H' is the number of steps that follow the step. C, B_1 and B_2 are the constants
    of the base; see `belated.theory.optimism`. Moreover, delta' = delta / 5,
    x = ln(K pi / (6 delta')) and L = ln(S^2 A H pi^2 / (6 delta')).

    Parameters
    ----------
    base : str
        Name of an optimistic base, one of `belated.theory.bonus.BASES`.
    shape : Shape
        Sizes (S, A, H) of the problem.
    states : array of int, shape (K, H) or (K, H + 1)
        States of each episode; the state after the last step is ignored.
    actions : array of int, shape (K, H)
        Actions of each episode.
    delays : sequence of int
        Delays tau_1, ..., tau_K in episodes, each at least 0.
    delta : float
        Probability in the formulas; the base runs with delta / 5.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> one = Shape(states=1, actions=1, horizon=1)
    >>> round(lemma_2("ucrl2", one, states=[[0]] * 9, actions=[[0]] * 9, delays=[0] * 9), 1)
    44.7
    """
    check_base(base)
    arrivals = arrivals_of(delays)
    K = len(arrivals)
    H, S, A = shape.table
    share = check_delta(delta) / 5
    C, slope, flat, B2 = NUMERATORS[base](shape, K, share)
    rest = np.arange(H - 1, -1, -1.0)  # H' at each step
    lower = 3 * C * H * H * S * math.log(S * S * A * H * math.pi * math.pi / (6 * share))
    triples = triples_of(shape, states, actions, K)
    count = np.zeros(H * S * A, np.int64)
    total = 0.0
    for k in range(K):
        np.add.at(count, triples[arrivals[k]], 1)
        n = count[triples[k]]
        seen = np.maximum(n, 1)
        bonus = np.where(n > 0, (slope * rest + flat) / np.sqrt(seen) + B2 / seen, np.inf)
        total += float((np.minimum(rest, bonus) + lower / seen).sum())
    return 6 * (H + C) * math.sqrt(K * H * delay_log(K, delta)) + 6 * total
