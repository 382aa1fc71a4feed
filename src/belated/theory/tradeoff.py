"""What alpha trades: lazy updating's bound (Theorem 2) as a function of alpha and the mean delay.

    H J (1 + psi) + linear (1 + 1/alpha) + root sqrt(1 + 1/alpha) + what alpha does not change

A large alpha plans often: J grows, and each epoch costs as much as is missing when it ends. A
small one keeps an old policy for long: the other two terms grow. J is the corrected bound on the
number of epochs. The functions here are plain Python; `belated.theory.alpha` compiles one of them.
"""

import math

import numpy as np

from belated.episode import Floats, Shape
from belated.theory.classes import NUMERATORS, check_base, optimism
from belated.theory.inputs import check_delta, check_episodes, check_mean_delay, delay_log

STEPS = 100
"""Halvings of the interval in which 1/alpha lies: more than a double can tell apart."""


def decomposition_log(shape: Shape, delta: float) -> float:
    """L = ln(S^2 A H pi^2 / (6 delta')), delta' = delta / 5, of Lemma 2."""
    H, S, A = shape.table
    return math.log(S * S * A * H * math.pi * math.pi / (6 * (check_delta(delta) / 5)))


def count_log(shape: Shape, episodes: int) -> float:
    """2 ln(K/SA), or 2 where that is less: HSA (1 + 1/alpha) of it bounds the sum of n_j / N'_j.

    Lemma 8 asks for K/SA >= e. Below that at most T/e of logs are shared among the HSA triples,
    and 2 still covers them.
    """
    ratio = episodes / (shape.states * shape.actions)
    return 2 * max(1.0, math.log(ratio))


def lazy_terms(shape: Shape, *, episodes: int, base: str, delta: float) -> Floats:
    """What `alpha_for` needs to know of a problem and a base: a flat array

        [x, once, growth, most, linear, root]

    - `x`: the log of psi = E[tau] + x + sqrt(2 E[tau] x).
    - `once`, `growth`, `most`: H J = min(most, once + growth / ln(1 + 1/alpha)).
    - `linear`, `root`: the factors of 1 + 1/alpha and of its root.

    `delta` is that of the theorem; the base is taken to run with delta / 5. A base whose constants
    are not known is taken for "ucbvi-ch", the widest bonus among the bases with C = 1.
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    HSA = H * S * A
    known = base if base in NUMERATORS else "ucbvi-ch"
    numbers = optimism(known, shape, episodes=K, delta=check_delta(delta) / 5)
    logs = HSA * count_log(shape, K)
    lower = numbers.B2 + 3 * numbers.C * H * H * S * decomposition_log(shape, delta)
    return np.array(
        [
            delay_log(K, delta),
            float(H * (1 + HSA)),
            H * HSA * max(0.0, math.log(K / (S * A))),
            float(H * K),
            6 * lower * logs,
            6 * math.sqrt(logs * (K * H)) * numbers.B1,
        ]
    )


def minimiser(terms: Floats, mean_delay: float) -> float:
    """The alpha >= 1 at which Theorem 2 promises least; `terms` are those of `lazy_terms`.

    As a function of ln(1 + 1/alpha) the bound with J below K is convex, so its slope has one root,
    found by halving. Where J is K, the bound falls with alpha, so infinity is the other candidate.
    With an infinite mean delay every bound is infinite, and alpha is 1.
    """
    x, once, growth, most, linear, root = terms
    if mean_delay == math.inf:
        return 1.0
    waiting = 1.0 + mean_delay + x + math.sqrt(2.0 * mean_delay * x)
    linear /= waiting  # the whole bound is divided by 1 + psi
    root /= waiting
    low = 0.0
    high = 1.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        log = math.log1p(middle)
        slope = linear * (1.0 + middle) + 0.5 * root * math.sqrt(1.0 + middle)
        if slope * (log * log) < growth:
            low = middle
        else:
            high = middle
    inside = once + growth / math.log1p(high)
    inside += linear * (1.0 + high) + root * math.sqrt(1.0 + high)
    if most + linear + root < inside:
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
    """The alpha of lazy updating with the least bound (Theorem 2) for this mean delay.

    Infinite, that is active updating, where planning in every episode (J = K) is bounded by less.

    >>> small = Shape(states=5, actions=2, horizon=5)
    >>> round(best_alpha(small, episodes=100_000, mean_delay=0, base="ucrl2"), 2)
    8.48
    >>> round(best_alpha(small, episodes=100_000, mean_delay=300, base="ucrl2"), 2)
    1.52
    """
    check_base(base)
    terms = lazy_terms(shape, episodes=episodes, base=base, delta=delta)
    return minimiser(terms, check_mean_delay(mean_delay))
