"""Bounds of Lemmas 3, 4 and 8: sums over visited triples, and the number of epochs.

N' is the number of observed visits of a triple (h, s, a) at the start of an episode.
"""

import math

from belated.episode import Shape
from belated.theory.validation import check_alpha, check_episodes


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
