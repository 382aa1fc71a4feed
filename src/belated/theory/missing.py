"""S_k, the number of episodes whose feedback is missing, and psi, a bound on it."""

import math
from collections.abc import Sequence

import numpy as np

from belated.episode import Ints
from belated.theory.inputs import check_delta, check_episodes, check_mean_delay, delay_log


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


def psi(mean_delay: float, episodes: int, delta: float, *, safe: bool = False) -> float:
    """Lemma 1: S_k <= psi for all k <= K with probability 1 - delta', delta' = delta / 5.

        psi = E[tau] + x + sqrt(2 E[tau] x),   x = ln(K pi / (6 delta'))

    The printed proof loses a factor 2 in Bernstein's exponent and needs delta' <= 1/6. `safe=True`
    is what Bernstein and a union over K episodes do give,

        E[tau] + y/3 + sqrt(y^2/9 + 2 E[tau] y),   y = ln(K / delta').

    It is the smaller of the two unless the mean delay is several thousand episodes.

    >>> round(psi(100, 10_000, 0.05), 1), round(psi(100, 10_000, 0.05, safe=True), 1)
    (164.5, 157.4)
    """
    mean = check_mean_delay(mean_delay)
    if safe:
        y = math.log(check_episodes(episodes) / (check_delta(delta) / 5))
        return mean + y / 3 + math.sqrt(y * y / 9 + 2 * mean * y)
    x = delay_log(episodes, delta)
    return mean + x + math.sqrt(2 * mean * x)
