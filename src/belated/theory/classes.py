"""What the theorems know of a base: C, and the numerators B_1 and B_2 of its bonus.

    beta = B_1 / sqrt(N') + B_2 / N'                                         (Eq. 5)

The numbers are upper bounds with published constants. Where a base has several (the radii of
UCRL2, KL-UCRL and chi2-UCRL, the presets of UCBVI-BF) they are the widest, so that they hold for
each, up to `scale=1`. Variances are at most a quarter of the squared range H' = H - h, and a count
in a log is at most K. With L = ln(5SAT/delta):

    base        C   B_1 at step h                        B_2               published by
    ubev        1   H' sqrt(2 lnln K + ln(18SAH/delta))  0                 Dann et al. 2017
    ucbvi-ch    1   7 H L                                0                 Azar et al. 2017
    ucbvi-bf    1   H' sqrt(2 L) + sqrt(8) H             14 H L / 3        Azar et al. 2017
    ucrl2       0   (H'/2) sqrt(14 S ln(2AT/delta))      0                 Jaksch et al. 2010
    ucrl2b      0   H' sqrt(S ln(6SAHK/delta))           6SH' ln(6SAHK/delta)  Fruit et al. 2020
    kl-ucrl     0   H' sqrt(c/2)                         0                 Filippi et al. 2010
    chi2-ucrl   0   (H'/2) sqrt(c)                       (H'/2) sqrt(S c)  Neu, Pike-Burke 2020

For KL-UCRL c is the larger of its two radii times N', and Pinsker's inequality puts its ball into
one of UCRL2's. That is about the maximum over the ball; its form "bonus" adds c H' / N'. For
chi2-UCRL c is S (2 sqrt(l) + 14 l / 3)^2 with l = ln(4 S^2 A T / delta), from empirical Bernstein
bounds.

C = 0 where the bonus dominates <P^ - P, V~>: the model-optimistic bases.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from belated.episode import Shape
from belated.theory.inputs import check_delta, check_episodes


@dataclass(frozen=True)
class Optimism:
    """The numbers of one base for a problem of one size.

    - `C`: 1 where lower-order terms must make up for a tighter bonus, else 0.
    - `B`: above B_1 in every episode and at every step; Theorem 1 has it.
    - `B1`: the root of the mean square of B_1 over the H steps, so that the sum of B_1^2 over a
      run is at most T B1^2; Theorem 2 has that sum. Never above `B`.
    - `B2`: above B_2 in every episode and at every step.
    """

    C: int
    B: float
    B1: float
    B2: float


class Numerators(NamedTuple):
    """B_1 = slope (H - h) + flat at step h."""

    C: int
    slope: float
    flat: float
    B2: float


def optimism(base: str, shape: Shape, *, episodes: int, delta: float = 0.05) -> Optimism:
    """C, B, B_1 and B_2 of a base that is run for K episodes with this `delta` of its own.

    >>> numbers = optimism("ucbvi-ch", Shape(5, 2, 5), episodes=10_000)
    >>> numbers.C, round(numbers.B, 1), numbers.B2
    (1, 620.5, 0.0)
    >>> optimism("sarsa", Shape(5, 2, 5), episodes=10_000)
    Traceback (most recent call last):
    ValueError: base is 'sarsa'; it must be one of 'ubev', 'ucbvi-ch', 'ucbvi-bf', 'ucrl2', ...
    """
    check_base(base)
    found = NUMERATORS[base](shape, check_episodes(episodes), check_delta(delta))
    H = shape.horizon
    mean, square = (H - 1) / 2, (H - 1) * (2 * H - 1) / 6  # of H - h, over the steps
    slope, flat = found.slope, found.flat
    return Optimism(
        C=found.C,
        B=slope * (H - 1) + flat,
        B1=math.sqrt(slope * slope * square + 2 * slope * flat * mean + flat * flat),
        B2=found.B2,
    )


def check_base(base: object) -> None:
    """Refuse a base whose constants are not known."""
    if base not in NUMERATORS:
        known = ", ".join(repr(name) for name in NUMERATORS)
        raise ValueError(f"base is {base!r}; it must be one of {known}.")


def _ubev(shape: Shape, K: int, delta: float) -> Numerators:
    H, S, A = shape.table
    loglog = math.log(math.log(max(math.e, K)))
    return Numerators(1, math.sqrt(2 * loglog + math.log(18 * S * A * H / delta)), 0.0, 0.0)


def _ucbvi_ch(shape: Shape, K: int, delta: float) -> Numerators:
    return Numerators(1, 0.0, 7 * shape.horizon * _azar_log(shape, K, delta), 0.0)


def _ucbvi_bf(shape: Shape, K: int, delta: float) -> Numerators:
    H, log = shape.horizon, _azar_log(shape, K, delta)
    return Numerators(1, math.sqrt(2 * log), math.sqrt(8) * H, 14 * H * log / 3)


def _azar_log(shape: Shape, K: int, delta: float) -> float:
    return math.log(5 * shape.states * shape.actions * K * shape.horizon / delta)


def _ucrl2(shape: Shape, K: int, delta: float) -> Numerators:
    H, S, A = shape.table
    c = 14 * S * math.log(2 * A * K * H / delta)
    return Numerators(0, math.sqrt(c) / 2, 0.0, 0.0)


def _ucrl2b(shape: Shape, K: int, delta: float) -> Numerators:
    H, S, A = shape.table
    log = math.log(6 * S * A * H * K / delta)
    return Numerators(0, math.sqrt(S * log), 0.0, 6 * S * (H - 1) * log)


def _kl_ucrl(shape: Shape, K: int, delta: float) -> Numerators:
    H, S, A = shape.table
    uniform = math.log(S * A * H / delta)
    if S > 1:
        uniform += (S - 1) * (1 + math.log1p(K / (S - 1)))
    log = math.log(max(3, K))
    b = math.log(2 * math.e * S * S * A * H * log / delta)
    g = b + 1 / log
    c = max(uniform, S * (b + math.log(g) * (1 + 1 / g)))
    return Numerators(0, math.sqrt(c / 2), 0.0, 0.0)


def _chi2_ucrl(shape: Shape, K: int, delta: float) -> Numerators:
    H, S, A = shape.table
    log = math.log(4 * S * S * A * K * H / delta)
    root = math.sqrt(S) * (2 * math.sqrt(log) + 14 * log / 3)
    return Numerators(0, root / 2, 0.0, (H - 1) / 2 * math.sqrt(S) * root)


NUMERATORS: Final[dict[str, Callable[[Shape, int, float], Numerators]]] = {
    "ubev": _ubev,
    "ucbvi-ch": _ucbvi_ch,
    "ucbvi-bf": _ucbvi_bf,
    "ucrl2": _ucrl2,
    "ucrl2b": _ucrl2b,
    "kl-ucrl": _kl_ucrl,
    "chi2-ucrl": _chi2_ucrl,
}
"""The bases, by name."""

BASES: Final = tuple(NUMERATORS)
