"""Choice of alpha: the bound of lazy updating (Theorem 2) as a function of alpha.

    H J (1 + psi) + linear (1 + 1/alpha) + root sqrt(1 + 1/alpha) + terms without alpha

With a large alpha the learner plans often: J grows, and each epoch costs as many episodes as are
missing when it ends. With a small alpha a policy is kept for long: the other two terms grow. J is
the corrected bound on the number of epochs. The functions here are plain Python;
`belated.theory.compiled` compiles `minimize_bound`.
"""

import math

import numpy as np

from belated.episode import Floats, Shape
from belated.theory.bonus import NUMERATORS, check_base, lower_order_factor, optimism
from belated.theory.epochs import count_log
from belated.theory.missing import delay_log
from belated.theory.validation import check_delta, check_episodes, check_mean_delay

BISECTIONS = 100
"""Halvings of the interval that contains 1/alpha; enough for the precision of a double."""


def lazy_terms(shape: Shape, *, episodes: int, base: str, delta: float) -> Floats:
    """Return the coefficients of the bound of Theorem 2 as a function of alpha.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    base : str
        Name of the base. If its constants are unknown, those of "ucbvi-ch" are used, which has the
        widest bonus among the bases with C = 1.
    delta : float
        Failure probability of the theorem, in (0, 1); the base runs with delta / 5.

    Returns
    -------
    array of float64, shape (6,)
        `[x, once, growth, limit, linear, root]`:

        - `x` is the logarithm in psi = E[tau] + x + sqrt(2 E[tau] x).
        - `once`, `growth`, `limit` give H J = min(limit, once + growth / ln(1 + 1/alpha)).
        - `linear`, `root` are the factors of 1 + 1/alpha and of its square root.

    Examples
    --------
    >>> lazy_terms(Shape(2, 2, 2), episodes=100, base="ucrl2", delta=0.05).round(1).tolist()
    [8.6, 18.0, 51.5, 200.0, 0.0, 3827.9]
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    HSA = H * S * A
    known = base if base in NUMERATORS else "ucbvi-ch"
    constants = optimism(known, shape, episodes=K, delta=check_delta(delta) / 5)
    logs = HSA * count_log(shape, K)
    return np.array(
        [
            delay_log(K, delta),
            float(H * (1 + HSA)),
            H * HSA * max(0.0, math.log(K / (S * A))),
            float(H * K),
            6 * lower_order_factor(constants, shape, delta) * logs,
            6 * math.sqrt(logs * (K * H)) * constants.B1,
        ]
    )


def minimize_bound(terms: Floats, mean_delay: float) -> float:
    """Return the alpha >= 1 that minimizes the bound of Theorem 2.

    As a function of ln(1 + 1/alpha) the bound with J below K is convex, so its slope has one root,
    which is found by bisection. Where J is K, the bound falls with alpha, so infinity is the other
    candidate.

    Parameters
    ----------
    terms : array of float64, shape (6,)
        Coefficients from `lazy_terms`.
    mean_delay : float
        E[tau] in episodes, at least 0. If it is infinite, every bound is infinite and alpha is 1.

    Returns
    -------
    float
        alpha; infinity is active updating.
    """
    x, once, growth, limit, linear, root = terms
    if mean_delay == math.inf:
        return 1.0
    # divide the whole bound by 1 + psi
    cost = 1.0 + mean_delay + x + math.sqrt(2.0 * mean_delay * x)
    linear /= cost
    root /= cost
    # bisect 1/alpha in [0, 1] for the root of the slope
    low = 0.0
    high = 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        log = math.log1p(middle)
        slope = linear * (1.0 + middle) + 0.5 * root * math.sqrt(1.0 + middle)
        if slope * (log * log) < growth:
            low = middle
        else:
            high = middle
    # compare with the bound at alpha = inf, where J = K
    inside = once + growth / math.log1p(high)
    inside += linear * (1.0 + high) + root * math.sqrt(1.0 + high)
    if limit + linear + root < inside:
        return math.inf
    return 1.0 / high


def best_alpha(
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    base: str = "ucbvi-bf",
    delta: float = 0.05,
) -> float:
    """Return the alpha of lazy updating that has the smallest bound (Theorem 2).

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        E[tau] in episodes, at least 0; may be infinite.
    base : str
        Name of an optimistic base, one of `belated.theory.bonus.BASES`.
    delta : float
        Failure probability of the theorem, in (0, 1).

    Returns
    -------
    float
        alpha, at least 1. It is infinite, which is active updating, where the bound with a plan in
        every episode (J = K) is smaller.

    Examples
    --------
    >>> small = Shape(states=5, actions=2, horizon=5)
    >>> round(best_alpha(small, episodes=100_000, mean_delay=0, base="ucrl2"), 2)
    8.48
    >>> round(best_alpha(small, episodes=100_000, mean_delay=300, base="ucrl2"), 2)
    1.52
    """
    check_base(base)
    terms = lazy_terms(shape, episodes=episodes, base=base, delta=delta)
    return minimize_bound(terms, check_mean_delay(mean_delay))
