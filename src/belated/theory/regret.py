"""Regret bounds with constants: Theorems 1 and 2, and the theorem for delayed rewards.

According to the paper, each bound holds with probability 1 - delta for a base that is run with
delta' = delta / 5, under two assumptions: the bonus is at least as large as the estimation error
(Assumption 1), and delays are independent, identically distributed and non-negative (Assumption 2).
The constants are those of the proofs in the paper, with mistakes corrected; `docs/deviations.md`
lists the corrections. For Theorem 2 the probability is not proved, because its proof applies Lemma
2 to episodes that are selected by their own delays. In most experiments the bounds are far above
the regret of any run. They serve to compare the cost of delay with the cost of learning, and do not
predict regret.

`best_alpha` minimizes the regret bound of lazy updating (Theorem 2), as a function of alpha:

    H J (1 + psi) + linear (1 + 1/alpha) + root sqrt(1 + 1/alpha) + terms without alpha

J is the corrected bound on the number of epochs, `epoch_bound`; `linear` and `root` are
coefficients. With a large alpha the learner plans often. J is then large, and each epoch adds
H (1 + psi) to the bound. With a small alpha each policy is kept for long, and the two terms with
1 + 1/alpha are large.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from belated.episode import Floats, Shape
from belated.theory.bonus import (
    NUMERATORS,
    Optimism,
    check_base,
    lower_order_factor,
    optimism,
    scaled,
)
from belated.theory.lemmas import (
    check_delta,
    check_episodes,
    check_mean_delay,
    count_log,
    delay_log,
    epoch_bound,
    psi,
    visit_bound,
)

BISECTIONS = 100
"""Number of bisections of the interval [0, 1] that contains 1/alpha. It is large enough for the
precision of a double."""


@dataclass(frozen=True)
class Regret:
    """Regret bound for K episodes, or order of the regret, as a leading term plus a delay term."""

    leading: float
    """Leading term: the bound or order without delay, E[tau] = 0."""
    delay: float
    """Delay term: increase of the bound or order due to the delay."""
    max_regret: int
    """K H, the largest regret that any run can have."""
    order: bool
    """Whether the two terms are an order instead of a bound. An order shows how regret grows; it
    omits constants, logarithms and lower-order terms."""

    @property
    def total(self) -> float:
        """Sum of the leading term and the delay term."""
        return self.leading + self.delay

    @property
    def vacuous(self) -> bool:
        """Whether the total exceeds K H, the largest regret that any run can have."""
        return self.total > self.max_regret


def theorem_1(
    base: str, shape: Shape, *, episodes: int, mean_delay: float, delta: float = 0.05
) -> Regret:
    """Return the regret bound of active updating (Theorem 1).

        R_K <= 6 (H + C) sqrt(T x)
             + 6 (B sum max(1, N')^(-1/2) + (B_2 + 3 C H^2 S L) sum max(1, N')^-1)

    R_K is the regret after K episodes. N' is the number of observed visits of the triple that is
    visited at a step. The sums over all steps of the run are bounded by Lemma 3, whose bound
    contains psi of Lemma 1. C, B (an upper bound on B_1) and B_2 are constants of the base; see
    `optimism`. Moreover, delta' = delta / 5, x = ln(K pi / (6 delta')) and
    L = ln(S^2 A H pi^2 / (6 delta')).

    Parameters
    ----------
    base : str
        Name of an optimistic base, one of `belated.theory.bonus.BASES`.
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    delta : float
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    Regret
        The bound.

    Examples
    --------
    >>> chain = Shape(states=5, actions=2, horizon=5)
    >>> theorem_1("ucbvi-ch", chain, episodes=10_000, mean_delay=0).vacuous
    True
    """
    K = check_episodes(episodes)
    constants = _constants(base, shape, K, delta)
    lower = lower_order_factor(constants, shape, delta)

    def total(mean: float) -> float:
        limit = psi(mean, K, delta)
        bonuses = multiply(constants.B, visit_bound(shape, K, missing=limit, power=0.5))
        bonuses += multiply(lower, visit_bound(shape, K, missing=limit, power=1))
        return _noise(constants.C, shape, K, delta) + 6 * bonuses

    return _split(total, mean_delay, shape, K)


def theorem_2(
    base: str, shape: Shape, *, episodes: int, mean_delay: float, alpha: float, delta: float = 0.05
) -> Regret:
    """Return the regret bound of lazy updating (Theorem 2).

        R_K <= H J (1 + psi) + 6 (H + C) sqrt(T x)
             + 6 ((B_2 + 3 C H^2 S L) Z + sqrt(Z sum B_1^2)),   Z = 2 (1 + 1/alpha) HSA ln(K/SA)

    R_K is the regret after K episodes, J is `epoch_bound`, and psi is defined in Lemma 1. C, B_1
    and B_2 are constants of the base; see `optimism`. The other symbols are delta' = delta / 5,
    x = ln(K pi / (6 delta')) and L = ln(S^2 A H pi^2 / (6 delta')). If K/SA < e, ln(K/SA) is
    replaced by 1. The sum of B_1^2 over all steps of the run is at most T times the mean of B_1^2
    over the steps of an episode. For bases whose B_1 contains a variance, the paper mentions an
    argument that improves the term with B_1 by a factor of about sqrt(H). The paper gives no
    constants for it, so the improvement is not used.

    Parameters
    ----------
    base : str
        Name of an optimistic base, one of `belated.theory.bonus.BASES`.
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    alpha : float
        Parameter alpha of lazy updating, at least 1; infinity is active updating.
    delta : float
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    Regret
        The bound.

    Examples
    --------
    >>> tiny = Shape(states=2, actions=2, horizon=2)
    >>> theorem_2("kl-ucrl", tiny, episodes=10**9, mean_delay=10, alpha=10).vacuous
    False
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    constants = _constants(base, shape, K, delta)
    epochs = epoch_bound(shape, K, alpha)
    z = (1 + 1 / alpha) * H * S * A * count_log(shape, K)
    bonuses = lower_order_factor(constants, shape, delta) * z + math.sqrt(z * K * H) * constants.B1
    learning = _noise(constants.C, shape, K, delta) + 6 * bonuses

    def total(mean: float) -> float:
        return H * epochs * (1 + psi(mean, K, delta)) + learning

    return _split(total, mean_delay, shape, K)


def delayed_rewards(
    shape: Shape, *, episodes: int, mean_delay: float, delta: float = 0.05
) -> Regret:
    """Return the regret bound of UCRL2 with active updating when only rewards are delayed.

        R_K <= 2 H sqrt(T x) + 10 H^(3/2) S sqrt(A T ln(A T pi / (6 delta')))
             + 2 sqrt(6 l) sum max(1, N')^(-1/2),   l = ln(2 S A T pi / (6 delta'))

    R_K is the regret after K episodes, delta' = delta / 5 and x = ln(K pi / (6 delta')). N' is the
    number of observed rewards of the triple that is visited at a step; the sum over all steps of
    the run is bounded by Lemma 3. Only the last term depends on the delay. Up to constants and
    logarithms, the delay adds HSA E[tau] to the regret bound. If all feedback were delayed, it
    would add H^2 S^(3/2) A E[tau].

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    delta : float
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    Regret
        The bound.

    Examples
    --------
    >>> bound = delayed_rewards(Shape(5, 2, 5), episodes=10**6, mean_delay=100)
    >>> f"{bound.leading:.1e} {bound.delay:.1e}"
    '9.5e+06 5.5e+05'
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    T = K * H
    share = check_delta(delta) / 5
    model = 2 * H * math.sqrt(T * delay_log(K, delta))
    model += 10 * H**1.5 * S * math.sqrt(A * T * math.log(A * T * math.pi / (6 * share)))
    width = 2 * math.sqrt(6 * math.log(2 * S * A * T * math.pi / (6 * share)))

    def total(mean: float) -> float:
        return model + width * visit_bound(shape, K, missing=psi(mean, K, delta), power=0.5)

    return _split(total, mean_delay, shape, K)


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


def multiply(factor: float, amount: float) -> float:
    """Return `factor` times `amount`, where 0 times infinity is 0. `factor` must be at least 0."""
    return factor * amount if factor > 0 else 0.0


def _constants(base: str, shape: Shape, K: int, delta: float) -> Optimism:
    return optimism(base, shape, episodes=K, delta=check_delta(delta) / 5)


def _noise(C: int, shape: Shape, K: int, delta: float) -> float:
    """Return the martingale term 6 (H + C) sqrt(T x) of Lemma 2, with x = `delay_log(K, delta)`."""
    return 6 * (shape.horizon + C) * math.sqrt(K * shape.horizon * delay_log(K, delta))


def _split(total: Callable[[float], float], mean_delay: float, shape: Shape, K: int) -> Regret:
    """Return the regret bound `total(mean_delay)`, split into a leading term and a delay term.

    The function `total` returns the bound for a given mean delay. The leading term is `total(0)`,
    and the delay term is the rest. `shape` contains the sizes of the problem, and K is the number
    of episodes.
    """
    leading = total(0.0)
    delay = total(check_mean_delay(mean_delay)) - leading
    return Regret(leading, delay, max_regret=K * shape.horizon, order=False)
