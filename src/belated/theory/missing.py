"""The number of missing episodes S_k, and its bound psi."""

import math
from collections.abc import Sequence

import numpy as np

from belated.episode import Floats, Ints
from belated.theory.validation import check_delta, check_episodes, check_mean_delay


def missing(delays: Sequence[int] | Ints) -> Ints:
    """Return the numbers of missing episodes S_1, ..., S_K, where S_k = #{i < k : i + tau_i >= k}.

    Parameters
    ----------
    delays : sequence of int
        Delays tau_1, ..., tau_K in episodes, each at least 0.

    Returns
    -------
    array of int64, shape (K,)
        Number of episodes in flight at the start of each of the episodes 1, ..., K.

    Examples
    --------
    >>> missing([2, 2, 2, 2, 2])
    array([0, 1, 2, 2, 2])
    """
    first_use = first_uses(delays)
    K = first_use.size
    arrivals = np.bincount(first_use, minlength=K + 2)[1 : K + 1]
    return np.arange(K, dtype=np.int64) - np.cumsum(arrivals)


def first_uses(delays: Sequence[int] | Ints) -> Ints:
    """Return i + tau_i + 1, the episode at which the feedback of episode i is first usable.

    `delays` holds tau_1, ..., tau_K, and the result has one entry for each episode i = 1, ..., K.
    An entry is K + 1 if the feedback is not usable in any of the K episodes.
    """
    tau = np.asarray(delays)
    if tau.size == 0:
        return np.zeros(0, np.int64)
    if tau.ndim != 1 or not np.issubdtype(tau.dtype, np.integer):
        raise TypeError(f"delays must be a flat sequence of integers, got {delays!r}.")
    if tau.min() < 0:
        raise ValueError(f"delays must be at least 0, got {tau.min()}.")
    K = tau.size
    # limit the delays first, so that the sum cannot overflow
    limited = np.minimum(tau, K).astype(np.int64)
    first_use: Ints = np.minimum(np.arange(2, K + 2) + limited, K + 1)
    return first_use


def psi(mean_delay: float, episodes: int, delta: float, *, safe: bool = False) -> float:
    """Return psi, an upper bound on the numbers of missing episodes S_k of a run (Lemma 1).

        psi = E[tau] + x + sqrt(2 E[tau] x),   x = ln(K pi / (6 delta')),   delta' = delta / 5

    According to Lemma 1, all S_k are at most psi with probability 1 - delta'. The proof in the
    paper omits a factor of 2 in the exponent of Bernstein's inequality and requires delta' <= 1/6.

    Parameters
    ----------
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    episodes : int
        Number of episodes K, at least 1.
    delta : float
        Probability that the regret bound fails, in (0, 1); delta / 5 is allotted to psi.
    safe : bool
        Whether to return, in place of psi, a bound with a complete proof:
        E[tau] + y/3 + sqrt(y^2/9 + 2 E[tau] y) with y = ln(K / delta'). This bound follows from
        Bernstein's inequality and a union bound over K episodes. It is smaller than psi unless the
        mean delay is several thousand episodes.

    Returns
    -------
    float
        Bound on the number of missing episodes.

    Examples
    --------
    >>> round(psi(100, 10_000, 0.05), 1), round(psi(100, 10_000, 0.05, safe=True), 1)
    (164.5, 157.4)
    """
    mean = check_mean_delay(mean_delay)
    if safe:
        y = math.log(check_episodes(episodes) / (check_delta(delta) / 5))
        return mean + y / 3 + math.sqrt(y * y / 9 + 2 * mean * y)
    x = delay_log(episodes, delta)
    return mean + x + math.sqrt(2 * mean * x)


def delay_log(episodes: int, delta: float) -> float:
    """Return x = ln(K pi / (6 delta')) of Lemma 1, for K = `episodes` and delta' = `delta` / 5."""
    return math.log(check_episodes(episodes) * math.pi / (6 * (check_delta(delta) / 5)))


def share_in_flight(in_flight: Ints, arrived: Ints) -> Floats:
    """Return, for each row, the fraction N'' / N of its visits whose feedback is missing.

    For each row, `in_flight` holds N'', the number of visits in flight, and `arrived` holds the
    number of visits whose feedback has arrived. The fraction is 0 for a row without visits.

    >>> share_in_flight(np.array([1, 0, 0]), np.array([3, 2, 0])).tolist()
    [0.25, 0.0, 0.0]
    """
    total = in_flight + arrived
    share: Floats = np.divide(in_flight, total, out=np.zeros(total.size), where=total > 0)
    return share
