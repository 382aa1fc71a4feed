"""Lazy updating: bounds on the number of epochs J and on sums within epochs (Lemmas 4, 5, 8)."""

import math
from collections.abc import Sequence

from belated.episode import Floats, Shape
from belated.theory.validation import check_alpha, check_episodes, check_power


def epoch_bound(shape: Shape, episodes: int, alpha: float, *, printed: bool = False) -> float:
    """Return the largest number of epochs of lazy updating in K episodes (Lemma 4, corrected).

        J <= min(K, 1 + HSA (1 + ln^+(K / (SA)) / ln(1 + 1/alpha)))

    Each epoch after the first is started by some triple: once when the triple is first observed,
    then each time its count has grown by a factor of 1 + 1/alpha. By concavity of the logarithm
    the bound is largest when the HK observations are spread evenly.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    alpha : float
        Activity of lazy updating, at least 1; infinity is active updating.
    printed : bool
        Return the bound printed in the paper, HSA ln(alpha K / (SA) + 1) / ln(1 + 1/alpha),
        which omits the first epoch and does not hold for alpha near 1.

    Returns
    -------
    float
        Bound on J, the first epoch included.

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


def sharp_epoch_bound(shape: Shape, episodes: int, alpha: float) -> float:
    """Return a bound on the number of epochs, sharper than `epoch_bound` for alpha above about 2.

        J <= min(K, 1 + HSA min(K/SA, ceil(alpha) + ln^+(K / (SA alpha)) / ln(1 + 1/alpha)))

    A triple with fewer than alpha observations starts an epoch with every observation, at most
    ceil(alpha) times. Only then must its count grow by a factor of 1 + 1/alpha.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    alpha : float
        Activity of lazy updating, at least 1; infinity is active updating.

    Returns
    -------
    float
        Bound on J, never above `epoch_bound`.

    Examples
    --------
    >>> chain = Shape(states=30, actions=2, horizon=30)
    >>> round(epoch_bound(chain, 10**7, 100)), round(sharp_epoch_bound(chain, 10**7, 100))
    (2176880, 1522011)
    """
    simple = epoch_bound(shape, episodes, alpha)
    SA = shape.states * shape.actions
    growth = math.log1p(1 / alpha)
    if growth == 0:
        return simple
    grown = max(0.0, math.log(episodes / (SA * alpha))) / growth
    return min(simple, 1 + shape.horizon * SA * min(episodes / SA, math.ceil(alpha) + grown))


def lazy_bound(total: float, alpha: float, *, power: float) -> float:
    """Return the bound of Lemma 5 on the sum of n_j / N_{j-1}^p over epochs j = 1, ..., J.

        p = 1/2    (1 + sqrt(2) (1 + 1/alpha)) sqrt(N_J)
        p = 1      (1 + 1/alpha) (1 + ln N_J)

    n_j is the number of observations of a triple in epoch j without its last episode, at most
    N_{j-1} / alpha, and N_j = max(1, n_1 + ... + n_j).

    Parameters
    ----------
    total : float
        N_J, at least 1.
    alpha : float
        Activity of lazy updating, at least 1.
    power : float
        Exponent p, 0.5 or 1.

    Returns
    -------
    float
        Bound on the sum.

    Examples
    --------
    >>> round(lazy_bound(64, 1, power=1), 2)
    10.32
    """
    if not total >= 1:
        raise ValueError(f"total must be at least 1, got {total}.")
    factor = 1 + 1 / check_alpha(alpha)
    if check_power(power) == 0.5:
        return (1 + math.sqrt(2) * factor) * math.sqrt(total)
    return factor * (1 + math.log(total))


def lazy_sum(observed: Sequence[float] | Floats, *, power: float) -> float:
    """Return the sum of n_j / N_{j-1}^p, the left-hand side of Lemma 5.

    Parameters
    ----------
    observed : sequence of float
        Observations n_1, ..., n_J of a triple in each epoch.
    power : float
        Exponent p, 0.5 or 1.

    Returns
    -------
    float
        The sum.

    Examples
    --------
    >>> lazy_sum([1, 1, 2, 4], power=1)
    4.0
    """
    check_power(power)
    total = 0.0
    result = 0.0
    for n in observed:
        result += n / max(1.0, total) ** power
        total += n
    return result


def count_log(shape: Shape, episodes: int) -> float:
    """Return 2 ln(K/SA), or 2 where that is smaller (Lemma 8).

    HSA (1 + 1/alpha) times this number bounds the sum of n_j / N'_j, for a problem of size
    `shape` and K = `episodes`. Lemma 8 requires K/SA >= e. Below that, at most T/e logarithms are
    shared among the HSA triples, and 2 still covers them.
    """
    ratio = episodes / (shape.states * shape.actions)
    return 2 * max(1.0, math.log(ratio))
