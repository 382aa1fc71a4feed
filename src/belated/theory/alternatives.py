"""Regret of other methods for delayed feedback and of delayed bandits, and the lower bound."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Shape
from belated.theory.missing import psi
from belated.theory.orders import Order
from belated.theory.regret import Regret
from belated.theory.table import find_row
from belated.theory.validation import (
    check_delta,
    check_episodes,
    check_longest_delay,
    check_mean_delay,
)

EXPLICIT_EXPLORATION_ORDER: Final = Order(H=1.5, S=1, A=0.5, T=0.5)
LOWER_BOUND_ORDER: Final = Order(H=1, S=0.5, A=0.5, T=0.5)


def explicit_exploration(shape: Shape, *, episodes: int, longest_delay: float) -> Regret:
    """Return the order of the regret of explicit exploration (Lancewicki et al. 2022).

        H^(3/2) S sqrt(AT) + H^2 S tau_max

    The order is the same for every base.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    longest_delay : float
        Longest delay tau_max in episodes, at least 0. The method requires tau_max before the first
        episode.

    Returns
    -------
    Regret
        The first term as `leading` and the second as `delay`.

    Examples
    --------
    >>> explicit_exploration(Shape(5, 2, 5), episodes=10_000, longest_delay=100).delay
    12500
    """
    check_longest_delay(longest_delay)
    leading = EXPLICIT_EXPLORATION_ORDER(shape, episodes=episodes)
    delay = shape.horizon**2 * shape.states * longest_delay
    return Regret(leading, delay, episodes * shape.horizon, order=True)


def multi_instance(
    base: str,
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    delta: float = 0.05,
    copies: float | None = None,
) -> Regret:
    """Return the order of the regret of M instances of a base (Joulani et al. 2013).

        M (f(K / M) + g) = sqrt(M) f(K) + M g

    K is the number of episodes, and f(K) + g is the order of the regret of one instance. The term
    f(K), proportional to sqrt(K), is the order of the base with immediate feedback in Table 1. The
    term g does not depend on K. Table 1 omits g for immediate feedback, so g is taken from the
    order with active updating, where it is the factor of E[tau] (Theorem 1). Delay multiplies the
    leading term f(K) by sqrt(M), so the relative effect of delay does not decrease with K.

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
        Failure probability in the formula of psi, in (0, 1); used if `copies` is None.
    copies : float, optional
        Number of instances M = 1 + max_k S_k, between 1 and K. If None, M is the smaller of K and
        1 + psi, or 1 if the mean delay is 0.

    Returns
    -------
    Regret
        f(K) as `leading`, and (sqrt(M) - 1) f(K) + (M - 1) g as `delay`. The term g of one instance
        is in neither, since the order without delay in Table 1 omits it too.

    Examples
    --------
    >>> four = multi_instance("ucrl2", Shape(4, 2, 5), episodes=90, mean_delay=3, copies=4)
    >>> round(four.leading), round(four.delay)  # g = H^2 S^(3/2) A = 400
    (1342, 2542)
    """
    mean = check_mean_delay(mean_delay)
    if copies is None:
        copies = min(float(episodes), 1 + psi(mean, episodes, delta)) if mean > 0 else 1.0
    if not 1 <= copies <= episodes:
        raise ValueError(f"copies must lie between 1 and K = {episodes}, got {copies}.")
    row = find_row(base)
    single = row.immediate(shape, episodes=episodes)
    delay = math.sqrt(copies) * single - single
    delay += (copies - 1) * row.delay(shape, episodes=episodes)
    return Regret(single, delay, episodes * shape.horizon, order=True)


def lower_bound(shape: Shape, *, episodes: int) -> Regret:
    """Return the order H sqrt(SAT) of the lower bound on regret.

    Every learner has at least this order of regret on some problem of the given size, even without
    delay.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.

    Returns
    -------
    Regret
        The order as `leading`; `delay` is 0.

    Examples
    --------
    >>> round(lower_bound(Shape(5, 2, 5), episodes=10_000).total)
    3536
    """
    leading = LOWER_BOUND_ORDER(shape, episodes=episodes)
    return Regret(leading, 0.0, episodes * shape.horizon, order=True)


def delayed_ucb(
    means: Sequence[float], *, episodes: int, delta: float = 0.05, missing: ArrayLike = 0.0
) -> Regret:
    """Return the regret bound of UCB on a bandit with delayed outcomes.

        R_K <= sum_i (2 c / D_i + D_i) + sum_i D_i G_i,   c = ln(4 A K / delta)

    The sums are over the arms i with a gap D_i = max_j means[j] - means[i] above 0. G_i is the
    largest number of outcomes of arm i that are missing at the start of an episode. The index of an
    arm is min(1, r^ + sqrt(c / (2 N'))), where N' is the number of its outcomes that have arrived
    and r^ is their mean; it is 1 if N' = 0. This is every optimistic base with horizon 1, unknown
    rewards, the default reward bonus, scale 1 and active updating.

    The bound holds with probability 1 - delta / 2 if delays do not depend on rewards. Proof: by
    Hoeffding's inequality and a union bound over A arms, at most K counts and two sides, every r^
    is within sqrt(c / (2 N')) of its mean. Then an arm is pulled only if its index is at least
    max_j means[j], hence only if N' <= 2 c / D_i^2. All its pulls before the last one are either
    among these N' or missing, so that it is pulled at most 2 c / D_i^2 + G_i + 1 times. The delay
    term is that of Joulani, György and Szepesvári (2013), who prove it for UCB1 and, with a queue
    of outcomes, for any algorithm.

    Parameters
    ----------
    means : sequence of float
        Mean reward of each arm, in [0, 1].
    episodes : int
        Number of episodes K, at least 1.
    delta : float
        Option `delta` of the base, in (0, 1).
    missing : float or sequence of float
        G_i for each arm, or one number for all arms; at least 0. For a constant delay of tau
        episodes it is at most tau, and for independent delays at most psi with high probability.

    Returns
    -------
    Regret
        The first sum as `leading` and the second as `delay`.

    Examples
    --------
    >>> bound = delayed_ucb([0.2, 0.7], episodes=10_000, missing=100)
    >>> round(bound.leading), round(bound.delay)
    (58, 50)
    """
    K, delta = check_episodes(episodes), check_delta(delta)
    values = np.asarray(means, np.float64)
    if values.ndim != 1 or values.size == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"means must be numbers in [0, 1], one for each arm, got {means!r}.")
    largest = np.asarray(missing, np.float64)
    if largest.shape not in ((), values.shape) or not (largest >= 0).all():
        raise ValueError(
            f"missing must be a number of at least 0, or one for each of {values.size} arms, got "
            f"{missing!r}."
        )
    gaps = values.max() - values
    worse = gaps > 0
    c = math.log(4 * values.size * K / delta)
    leading = float(np.sum(2 * c / gaps[worse] + gaps[worse]))
    delay = float(np.sum((gaps * largest)[worse]))
    return Regret(leading, delay, K, order=False)
