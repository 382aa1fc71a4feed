"""Lazy updating: bounds on the number of epochs J and on sums over epochs (Lemmas 4, 5 and 8)."""

import math
from collections.abc import Sequence

from belated.episode import Floats, Shape
from belated.theory.validation import check_alpha, check_episodes, check_power


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


def sharp_epoch_bound(shape: Shape, episodes: int, alpha: float) -> float:
    """Return an upper bound on the number of epochs J of lazy updating, at most `epoch_bound`.

        J <= min(K, 1 + HSA min(K/SA, ceil(alpha) + ln^+(K / (SA alpha)) / ln(1 + 1/alpha)))

    ln^+ x is max(0, ln x). The bound is below `epoch_bound` if alpha is above about 2. While a
    triple has fewer than alpha observations, each observation starts an epoch; these are at most
    ceil(alpha) epochs. Every later epoch requires that the count of the triple has grown by a
    factor of 1 + 1/alpha.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    alpha : float
        Parameter alpha of lazy updating, at least 1; infinity is active updating.

    Returns
    -------
    float
        Bound on J; J includes the first epoch.

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

    n_j is the number of observations of one triple in epoch j, without the last episode of the
    epoch, and N_j = max(1, n_1 + ... + n_j). The lemma assumes that n_j is at most N_{j-1} / alpha.

    Parameters
    ----------
    total : float
        Total number of observations N_J, at least 1.
    alpha : float
        Parameter alpha of lazy updating, at least 1.
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
    """Return the sum of n_j / N_{j-1}^p over epochs, the left-hand side of Lemma 5.

    N_j is max(1, n_1 + ... + n_j).

    Parameters
    ----------
    observed : sequence of float
        Numbers n_1, ..., n_J of observations of one triple in each epoch.
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
    """Return max(2, 2 ln(K/SA)), a factor in the bound of Lemma 8.

    `shape` contains the sizes S, A and H of the problem, and K = `episodes`. Lemma 8 states that
    the sum of n_j / N'_j over all triples and epochs j is at most HSA (1 + 1/alpha) times this
    factor. For each triple, n_j is the number of observations in epoch j, and N'_j is the count at
    the start of epoch j. Lemma 8 requires K/SA >= e. If K/SA is smaller, the bound holds with the
    factor 2.
    """
    ratio = episodes / (shape.states * shape.actions)
    return 2 * max(1.0, math.log(ratio))
