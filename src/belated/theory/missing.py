"""S_k, the number of episodes whose feedback is missing, and psi, the paper's bound on it."""

import math
from collections.abc import Sequence

import numpy as np

from belated.episode import Ints, check_integer


def missing(delays: Sequence[int] | Ints) -> Ints:
    """S_1, ..., S_K with S_k = #{i < k : i + tau_i >= k}; `delays` are tau_1, ..., tau_K.

    >>> missing([2, 2, 2, 2, 2])
    array([0, 1, 2, 2, 2])
    """
    first_use = first_uses(delays)
    K = first_use.size
    arrivals = np.bincount(first_use, minlength=K + 2)[1 : K + 1]
    return np.arange(K, dtype=np.int64) - np.cumsum(arrivals)


def first_uses(delays: Sequence[int] | Ints) -> Ints:
    """i + tau_i + 1, where the feedback of episode i is first usable; K + 1 if not by K."""
    tau = np.asarray(delays)
    if tau.size == 0:
        return np.zeros(0, np.int64)
    if tau.ndim != 1 or not np.issubdtype(tau.dtype, np.integer):
        raise TypeError(f"delays must be a flat sequence of integers, not {delays!r}.")
    if tau.min() < 0:
        raise ValueError(f"delays holds {tau.min()}; every delay must be at least 0.")
    K = tau.size
    # cut first, so that the sum cannot overflow
    late = np.minimum(tau, K).astype(np.int64)
    first_use: Ints = np.minimum(np.arange(2, K + 2) + late, K + 1)
    return first_use


def psi(mean_delay: float, episodes: int, delta: float) -> float:
    """Lemma 1: S_k <= psi for all k <= K with probability 1 - delta', delta' = delta / 5.

        psi = E[tau] + x + sqrt(2 E[tau] x),   x = ln(K pi / (6 delta'))

    >>> round(psi(100, 10_000, 0.05), 1)
    164.5
    """
    if not mean_delay >= 0:
        raise ValueError(f"mean_delay is {mean_delay}; it must be at least 0.")
    check_integer("episodes", episodes, 1)
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}; it must lie strictly between 0 and 1.")
    x = math.log(episodes * math.pi / (6 * (delta / 5)))
    return mean_delay + x + math.sqrt(2 * mean_delay * x)
