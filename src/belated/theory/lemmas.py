"""Lemmas 1, 3, 4 and 8: missing episodes, sums over visited triples, and the number of epochs.

N' is the number of observed visits of a triple (h, s, a) at the start of an episode.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from belated.check import check_integer
from belated.episode import Floats, Ints, Shape


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


def owners(delays: Sequence[int] | Ints) -> Ints:
    """Return the instance that plays each episode in multi-instance updating (BOLD).

    Each episode is played by the free instance with the lowest number, or by a new instance if none
    is free. An instance is free if the feedback of all its episodes is usable (Joulani, György,
    Szepesvári 2013).

    Parameters
    ----------
    delays : sequence of int
        Delays tau_1, ..., tau_K in episodes, each at least 0.

    Returns
    -------
    array of int64, shape (K,)
        Number of the instance that plays each of the episodes 1, ..., K; instances are numbered
        from 0.

    Examples
    --------
    >>> owners([2, 2, 2, 2, 2])
    array([0, 1, 2, 0, 1])
    """
    free: list[int] = []
    busy: defaultdict[int, list[int]] = defaultdict(list)  # by the episode that frees them
    owner: list[int] = []
    created = 0
    for k, first_use in enumerate(first_uses(delays).tolist(), start=1):
        for instance in busy.pop(k, ()):
            heappush(free, instance)
        if not free:
            free.append(created)
            created += 1
        owner.append(heappop(free))
        busy[first_use].append(owner[-1])
    return np.array(owner, np.int64)


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


def visit_bound(shape: Shape, episodes: int, *, missing: float, power: float) -> float:
    """Return the bound of Lemma 3 on the sum of max(1, N')^-p over the steps of K episodes.

        p = 1/2    4 sqrt(HSAT) + 3 HSA psi
        p = 1      2 HSA ln(8T) + HSA psi ln(16 psi)

    N' is the number of observed visits, at the start of the episode, of the triple (h, s, a) that
    is visited at the step. T = K H is the number of steps, and psi is an upper bound on the number
    of missing episodes.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    missing : float
        Value of psi in the formula, or any other upper bound on all S_k; at least 0. If it is 0,
        the terms that contain psi are 0.
    power : float
        Exponent p, 0.5 or 1.

    Returns
    -------
    float
        Bound on the sum.

    Examples
    --------
    >>> round(visit_bound(Shape(5, 2, 5), 10_000, missing=0, power=0.5))
    6325
    """
    H, S, A = shape.table
    HSA = H * S * A
    steps = check_episodes(episodes) * H
    if not missing >= 0:
        raise ValueError(f"missing must be at least 0, got {missing}.")
    if power not in (0.5, 1):
        raise ValueError(f"power must be 0.5 or 1, got {power}.")
    if power == 0.5:
        return 4 * math.sqrt(HSA * steps) + 3 * HSA * missing
    delay = missing * max(0.0, math.log(16 * missing)) if missing > 0 else 0.0
    return HSA * (2 * math.log(8 * steps) + delay)


def epoch_bound(shape: Shape, episodes: int, alpha: float, *, printed: bool = False) -> float:
    """Return an upper bound on the number of epochs J of lazy updating (Lemma 4, corrected).

        J <= min(K, 1 + HSA (1 + ln^+(K / (SA)) / ln(1 + 1/alpha)))

    ln^+ x is max(0, ln x). Each epoch after the first is started by a triple (h, s, a): once when
    the triple is first observed, then each time its count has grown by a factor of 1 + 1/alpha.
    Because the logarithm is concave, the number of epochs is bounded by the case in which all
    triples share the HK observations equally.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    alpha : float
        Parameter alpha of lazy updating, at least 1; infinity is active updating.
    printed : bool
        Whether to return the bound printed in the paper instead,
        HSA ln(alpha K / (SA) + 1) / ln(1 + 1/alpha). The printed bound omits the first epoch and
        does not hold for alpha near 1.

    Returns
    -------
    float
        Bound on J; J includes the first epoch.

    Examples
    --------
    >>> one = Shape(states=1, actions=1, horizon=1)
    >>> epoch_bound(one, 3, alpha=1), epoch_bound(one, 3, alpha=1, printed=True)
    (3.0, 2.0)
    """
    K = check_episodes(episodes)
    SA = shape.states * shape.actions
    growth = math.log1p(1 / check_alpha(alpha))
    if growth == 0:
        return math.inf if printed else float(K)
    if printed:
        return shape.horizon * SA * math.log(alpha * K / SA + 1) / growth
    return min(float(K), 1 + shape.horizon * SA * (1 + max(0.0, math.log(K / SA)) / growth))


def count_log(shape: Shape, episodes: int) -> float:
    """Return max(2, 2 ln(K/SA)), a factor in the bound of Lemma 8.

    `shape` contains the sizes S, A and H of the problem, and K = `episodes`. Lemma 8 states that
    the sum of n_j / N'_j over all triples and epochs j is at most HSA (1 + 1/alpha) times this
    factor. For each triple, n_j is the number of observations in epoch j, and N'_j is the count at
    the start of epoch j. Lemma 8 requires K/SA >= e. If K/SA is smaller, the bound holds with the
    factor 2.
    """
    ratio = episodes / (shape.states * shape.actions)
    return 2 * max(1.0, math.log(ratio))


def check_episodes(episodes: object) -> int:
    """Return `episodes`, the number of episodes K, as an int.

    Raise TypeError if it is not an integer, and ValueError if it is below 1.
    """
    return check_integer("episodes", episodes, 1)


def check_delta(delta: float) -> float:
    """Return the failure probability `delta`; raise ValueError unless 0 < `delta` < 1."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}.")
    return float(delta)


def check_mean_delay(mean_delay: float) -> float:
    """Return `mean_delay`, the mean delay E[tau] in episodes, which may be infinite.

    Raise ValueError if it is negative or NaN.
    """
    if not mean_delay >= 0:
        raise ValueError(f"mean_delay must be at least 0, got {mean_delay}.")
    return float(mean_delay)


def check_alpha(alpha: float) -> float:
    """Return `alpha`, the parameter of lazy updating, which may be infinite.

    Raise ValueError if it is below 1 or NaN.
    """
    if not alpha >= 1:
        raise ValueError(f"alpha must be at least 1 (inf is active updating), got {alpha}.")
    return float(alpha)


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
