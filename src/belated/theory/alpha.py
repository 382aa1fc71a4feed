"""Choice of alpha: the regret bound of lazy updating (Theorem 2) as a function of alpha.

    H J (1 + psi) + linear (1 + 1/alpha) + root sqrt(1 + 1/alpha) + terms without alpha

J is the corrected bound on the number of epochs, `epoch_bound`; `linear` and `root` are
coefficients. With a large alpha the learner plans often. J is then large, and each epoch adds
H (1 + psi) to the bound. With a small alpha each policy is kept for long, and the two terms with
1 + 1/alpha are large.

The functions of this module are plain Python; the engine compiles `alpha_for`.
"""

import math

import numpy as np

from belated.episode import Floats, Shape
from belated.theory.bonus import NUMERATORS, check_base, lower_order_factor, optimism, scaled
from belated.theory.lemmas import (
    check_delta,
    check_episodes,
    check_mean_delay,
    count_log,
    delay_log,
)

BISECTIONS = 100
"""Number of bisections of the interval [0, 1] that contains 1/alpha. It is large enough for the
precision of a double."""


def lazy_terms(
    shape: Shape, *, episodes: int, base: str, delta: float, scale: float = 1.0
) -> Floats:
    """Return the coefficients of the regret bound of Theorem 2 as a function of alpha.

    The bound is the sum of H J (1 + psi), linear (1 + 1/alpha), root sqrt(1 + 1/alpha) and terms
    without alpha. J is the bound on the number of epochs, and psi is the bound on the number of
    missing episodes. `linear` and `root` are two of the coefficients.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    base : str
        Name of the base. If the constants C, B_1 and B_2 of its bonus are unknown, the constants of
        "ucbvi-ch" are used, which has the widest bonus among the bases with C = 1.
    delta : float
        Probability that the bound fails, in (0, 1); the base runs with delta / 5.
    scale : float
        Factor of the bonus of the base, or of its radius; at least 0.

    Returns
    -------
    array of float64, shape (6,)
        `[x, once, growth, limit, linear, root]`:

        - `x` is the logarithm in psi = E[tau] + x + sqrt(2 E[tau] x).
        - `once`, `growth` and `limit` give H J = min(limit, once + growth / ln(1 + 1/alpha)).
        - `linear` and `root` are the factors of 1 + 1/alpha and of sqrt(1 + 1/alpha).

    Examples
    --------
    >>> lazy_terms(Shape(2, 2, 2), episodes=100, base="ucrl2", delta=0.05).round(1).tolist()
    [8.6, 18.0, 51.5, 200.0, 0.0, 3827.9]
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    HSA = H * S * A
    known = base if base in NUMERATORS else "ucbvi-ch"
    published = optimism(known, shape, episodes=K, delta=check_delta(delta) / 5)
    constants = scaled(published, known, scale)
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


def alpha_for(terms: Floats, mean_delay: float) -> float:
    """Return the alpha >= 1 that minimizes the regret bound of Theorem 2.

    J is the bound on the number of epochs, and K is the number of episodes. Where J < K, the regret
    bound is convex in ln(1 + 1/alpha), so its derivative has at most one root, which is found by
    bisection. Where J = K, the regret bound decreases in alpha. Therefore the regret bound at the
    root is compared with the regret bound at alpha = infinity.

    Parameters
    ----------
    terms : array of float64, shape (6,)
        Coefficients from `lazy_terms`.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0. If it is infinite, the bound is infinite for
        every alpha, and 1 is returned.

    Returns
    -------
    float
        The alpha; infinity is active updating.
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
    scale: float = 1.0,
) -> float:
    """Return the alpha of lazy updating for which the regret bound of Theorem 2 is smallest.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    base : str
        Name of an optimistic base, one of `belated.theory.bonus.BASES`.
    delta : float
        Probability that the bound fails, in (0, 1).
    scale : float
        Factor of the bonus of the base, or of its radius; at least 0. If it is below 1, the regret
        bound is not proved; the returned alpha minimises the formula with the smaller bonus.

    Returns
    -------
    float
        The alpha, at least 1; infinity (active updating) if a plan in every episode (J = K) gives a
        smaller bound than every finite alpha.

    Examples
    --------
    >>> small = Shape(states=5, actions=2, horizon=5)
    >>> round(best_alpha(small, episodes=100_000, mean_delay=0, base="ucrl2"), 2)
    8.48
    >>> round(best_alpha(small, episodes=100_000, mean_delay=300, base="ucrl2"), 2)
    1.52
    """
    check_base(base)
    terms = lazy_terms(shape, episodes=episodes, base=base, delta=delta, scale=scale)
    return alpha_for(terms, check_mean_delay(mean_delay))
