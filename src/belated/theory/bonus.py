"""Constants C, B_1 and B_2 of the bonus of each base, from which its regret bound is computed.

    beta = B_1 / sqrt(N') + B_2 / N'                                         (Eq. 5)

The constants are upper bounds, computed with the published numerical factors where there are any.
If a base has several variants (the radii of UCRL2, KL-UCRL and chi2-UCRL, the presets of UCBVI-BF),
the widest bonus is used, so that the regret bounds hold for each optimistic variant with the
published bonus, `scale` 1. Optimism is not proved for every variant; see `BaseAlgorithm.proof`.
Variances are at most H'^2 / 4, where H' = H - h, and counts in a logarithm are at most K. With
L = ln(5SAT/delta):

    base        C   B_1 at step h                        B_2               published by
    ubev        1   H' sqrt(2 lnln K + ln(18SAH/delta))  0                 Dann et al. 2017
    ucbvi-ch    1   7 H L                                0                 Azar et al. 2017
    ucbvi-bf    1   H' sqrt(2 L) + sqrt(8) H             14 H L / 3        Azar et al. 2017
    ucrl2       0   (H'/2) sqrt(14 S ln(2AT/delta))      0                 Jaksch et al. 2010
    ucrl2b      0   H' sqrt(S ln(6SAHK/delta))           6SH' ln(6SAHK/delta)  Fruit et al. 2020
    kl-ucrl     0   H' sqrt(c/2)                         0                 Filippi et al. 2010
    chi2-ucrl   0   (H'/2) sqrt(c)                       (H'/2) sqrt(S c)  nobody: derived here

For KL-UCRL, c is N' times the larger of its two radii. By Pinsker's inequality its confidence set
lies inside an L1 ball, as used by UCRL2. The constants of KL-UCRL hold for its form "exact"; the
bonus of its form "bonus" has the additional term c H' / N'. For chi2-UCRL,
c = S (2 sqrt(l) + 14 l / 3)^2 with l = ln(4 S^2 A T / delta), from empirical Bernstein bounds.

C = 0 for the bases whose bonus is an upper bound on <P^ - P, V~>. These are the bases that are
optimistic over a set of transition probabilities.
"""

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Final

from belated.episode import Shape
from belated.theory.lemmas import check_delta, check_episodes


@dataclass(frozen=True)
class Optimism:
    """Constants of the bonus B_1 / sqrt(N') + B_2 / N' of one base, for a problem of a given size.

    N' is the number of observed visits of a triple (h, s, a).
    """

    C: int
    """0 if the bonus is an upper bound on <P^ - P, V~>, else 1. <P^ - P, V~> is the mean of V~, the
    optimistic value of the next step, under the empirical transition probabilities P^, minus its
    mean under the true transition probabilities P."""
    B: float
    """Upper bound on B_1, the numerator of 1/sqrt(N') in the bonus, over all episodes and steps. It
    is used in Theorem 1."""
    B1: float
    """Root mean square of B_1 over the H steps of an episode, never above `B`. The bonus contains
    the term B_1 / sqrt(N'). The sum of B_1^2 over all T steps of a run, which occurs in Theorem
    2, is at most T times the square of this number."""
    B2: float
    """Upper bound on B_2, the numerator of 1/N' in the bonus, over all episodes and steps."""


BonusNumerators = tuple[int, float, float, float]
"""Constants (C, slope, flat, B_2) of the bonus B_1 / sqrt(N') + B_2 / N' of one base.

B_1 depends on the step h: B_1 = slope (H - h) + flat. C is as in `Optimism`."""


def optimism(base: str, shape: Shape, *, episodes: int, delta: float = 0.05) -> Optimism:
    """Return the constants C, B_1 and B_2 of the bonus of a base, and an upper bound B on B_1.

    Parameters
    ----------
    base : str
        Name of an optimistic base, one of `BASES`.
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    delta : float
        Probability delta in the formulas of the base, in (0, 1).

    Returns
    -------
    Optimism
        The constants.

    Raises
    ------
    ValueError
        If the constants of the base are unknown or an argument is out of range.

    Examples
    --------
    >>> constants = optimism("ucbvi-ch", Shape(5, 2, 5), episodes=10_000)
    >>> constants.C, round(constants.B, 1), constants.B2
    (1, 620.5, 0.0)
    >>> optimism("sarsa", Shape(5, 2, 5), episodes=10_000)
    Traceback (most recent call last):
    ValueError: base must be one of 'ubev', 'ucbvi-ch', 'ucbvi-bf', 'ucrl2', ...
    """
    check_base(base)
    C, slope, flat, B2 = NUMERATORS[base](shape, check_episodes(episodes), check_delta(delta))
    H = shape.horizon
    mean, square = (H - 1) / 2, (H - 1) * (2 * H - 1) / 6  # of H - h, over the steps
    return Optimism(
        C=C,
        B=slope * (H - 1) + flat,
        B1=math.sqrt(slope * slope * square + 2 * slope * flat * mean + flat * flat),
        B2=B2,
    )


def scaled(constants: Optimism, base: str, scale: float) -> Optimism:
    """Return the constants of the bonus of a base whose scale is not 1.

    The bonus is proportional to the scale, except for KL-UCRL and chi2-UCRL. Their scale multiplies
    the radius of the confidence set, and their bonus is proportional to the square root of the
    scale.

    Parameters
    ----------
    constants : Optimism
        Constants at scale 1.
    base : str
        Name of the base.
    scale : float
        Factor of the bonus or radius, at least 0.

    Returns
    -------
    Optimism
        Constants at this scale.

    Examples
    --------
    >>> one = Optimism(C=0, B=4.0, B1=2.0, B2=8.0)
    >>> scaled(one, "ucrl2", 0.25).B1, scaled(one, "kl-ucrl", 0.25).B1
    (0.5, 1.0)
    """
    if not scale >= 0:
        raise ValueError(f"scale must be at least 0, got {scale}.")
    factor = math.sqrt(scale) if base in SCALED_RADIUS else scale
    C, *bonuses = astuple(constants)
    return Optimism(C, *(factor * each for each in bonuses))


def lower_order_factor(constants: Optimism, shape: Shape, delta: float) -> float:
    """Return B_2 + 3 C H^2 S L, the factor of the sum of 1/N' in the regret bound (Lemma 2).

    N' is the number of observed visits of a triple (h, s, a).

    Parameters
    ----------
    constants : Optimism
        Constants of the bonus of the base.
    shape : Shape
        Sizes (S, A, H) of the problem.
    delta : float
        Probability that the regret bound fails, in (0, 1).

    Returns
    -------
    float
        The factor, with L = ln(S^2 A H pi^2 / (6 delta')) and delta' = delta / 5.
    """
    H, S, A = shape.table
    log = math.log(S * S * A * H * math.pi * math.pi / (6 * (check_delta(delta) / 5)))
    return constants.B2 + 3 * constants.C * H * H * S * log


SCALED_RADIUS: Final = ("kl-ucrl", "chi2-ucrl")
"""Names of the bases whose scale multiplies the radius of a confidence set. Their bonus is
proportional to the square root of the scale."""


def check_base(base: object) -> None:
    """Raise ValueError if the constants of the bonus are unknown for the base named `base`."""
    if base not in NUMERATORS:
        known = ", ".join(repr(name) for name in NUMERATORS)
        raise ValueError(f"base must be one of {known}, got {base!r}.")


def _ubev(shape: Shape, K: int, delta: float) -> BonusNumerators:
    H, S, A = shape.table
    loglog = math.log(math.log(max(math.e, K)))
    return 1, math.sqrt(2 * loglog + math.log(18 * S * A * H / delta)), 0.0, 0.0


def _ucbvi_ch(shape: Shape, K: int, delta: float) -> BonusNumerators:
    return 1, 0.0, 7 * shape.horizon * _azar_log(shape, K, delta), 0.0


def _ucbvi_bf(shape: Shape, K: int, delta: float) -> BonusNumerators:
    H, log = shape.horizon, _azar_log(shape, K, delta)
    return 1, math.sqrt(2 * log), math.sqrt(8) * H, 14 * H * log / 3


def _azar_log(shape: Shape, K: int, delta: float) -> float:
    return math.log(5 * shape.states * shape.actions * K * shape.horizon / delta)


def _ucrl2(shape: Shape, K: int, delta: float) -> BonusNumerators:
    H, S, A = shape.table
    c = 14 * S * math.log(2 * A * K * H / delta)
    return 0, math.sqrt(c) / 2, 0.0, 0.0


def _ucrl2b(shape: Shape, K: int, delta: float) -> BonusNumerators:
    H, S, A = shape.table
    log = math.log(6 * S * A * H * K / delta)
    return 0, math.sqrt(S * log), 0.0, 6 * S * (H - 1) * log


def _kl_ucrl(shape: Shape, K: int, delta: float) -> BonusNumerators:
    H, S, A = shape.table
    uniform = math.log(S * A * H / delta)
    if S > 1:
        uniform += (S - 1) * (1 + math.log1p(K / (S - 1)))
    log = math.log(max(3, K))
    b = math.log(2 * math.e * S * S * A * H * log / delta)
    g = b + 1 / log
    c = max(uniform, S * (b + math.log(g) * (1 + 1 / g)))
    return 0, math.sqrt(c / 2), 0.0, 0.0


def _chi2_ucrl(shape: Shape, K: int, delta: float) -> BonusNumerators:
    H, S, A = shape.table
    log = math.log(4 * S * S * A * K * H / delta)
    root = math.sqrt(S) * (2 * math.sqrt(log) + 14 * log / 3)
    return 0, root / 2, 0.0, (H - 1) / 2 * math.sqrt(S) * root


NUMERATORS: Final[dict[str, Callable[[Shape, int, float], BonusNumerators]]] = {
    "ubev": _ubev,
    "ucbvi-ch": _ucbvi_ch,
    "ucbvi-bf": _ucbvi_bf,
    "ucrl2": _ucrl2,
    "ucrl2b": _ucrl2b,
    "kl-ucrl": _kl_ucrl,
    "chi2-ucrl": _chi2_ucrl,
}
"""Map from the name of a base to the function that computes the constants of its bonus.

The arguments of the function are the shape, the number of episodes K, and delta.
"""

BASES: Final = tuple(NUMERATORS)
"""Names of the bases for which the constants of the bonus are known."""
