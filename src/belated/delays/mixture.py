"""Mixtures of delay laws."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self

import numpy as np

from belated.check import check_number
from belated.delays.compound import check_pairs, format_entries
from belated.delays.laws import BELOW_ONE, NEVER, Law, check_law, constant, format_number
from belated.episode import Floats, Ints

WEIGHT_TOLERANCE: Final = 1e-9
"""Largest accepted difference between the sum of the weights and 1."""

ROUNDING: Final = 1e-15
"""Rounding error of a sum of probabilities."""


@dataclass(frozen=True)
class MixtureLaw(Law):
    """Law that is one of several laws with given probabilities; see `mixture`."""

    weights: tuple[float, ...] = field(repr=False, kw_only=True)
    """Probability of each of `laws`."""
    laws: tuple[Law, ...] = field(repr=False, kw_only=True)

    def at(self, u: Floats) -> Ints:
        """Return the delay for each uniform random number in `u`, in an array of the same shape.

        The interval [0, 1) is split into one part for each law, as long as its weight. The position
        of the number in its part is the uniform random number of the law.
        """
        u = np.asarray(u, dtype=np.float64)
        if not ((u >= 0) & (u < 1)).all():
            raise ValueError(f"u must lie in [0, 1), got {u}.")
        bounds = np.cumsum(self.weights)
        part = np.searchsorted(bounds[:-1], u, side="right")
        delays = np.zeros(u.shape, np.int64)
        for i, (weight, law) in enumerate(zip(self.weights, self.laws, strict=True)):
            mine = part == i
            position = (u[mine] - (bounds[i] - weight)) / weight
            delays[mine] = law.at(np.clip(position, 0.0, BELOW_ONE))
        return delays

    def _with_losses(self, probability: float, name: str) -> Self:
        weights = [(1 - probability) * weight for weight in self.weights]
        lost = Law("never", math.inf, constant(0).quantiles, 1.0)
        return self._of(name, [probability, *weights], [lost, *self.laws])

    @classmethod
    def _of(cls, name: str, weights: Iterable[float], laws: Iterable[Law]) -> Self:
        """Return the mixture called `name`, without laws whose weight is 0."""
        kept = [(w, law) for w, law in zip(weights, laws, strict=True) if w > 0]
        shares, parts = tuple(w for w, _ in kept), tuple(law for _, law in kept)
        mean = math.fsum(weight * law.mean for weight, law in kept)
        quantiles = partial(_mixture_quantiles, shares, parts)
        return cls(name, mean, quantiles, weights=shares, laws=parts)


def mixture(parts: Iterable[tuple[float, Law | str]]) -> Law:
    """Return the law that is one of several laws with given probabilities.

    Parameters
    ----------
    parts : iterable of (float, Law or str)
        Weight, which is the probability in (0, 1], and law, or its name, of each part. The weights
        must sum to 1. The laws must not depend on the number of the episode or on what is played.

    Returns
    -------
    Law
        Law with the name "mixture:WEIGHT=DELAY,...".

    Examples
    --------
    Two in ten results come at once, and the others late:

    >>> law = mixture([(0.2, "constant:0"), (0.8, "geometric:100")])
    >>> law.name, law.mean, law.quantile(0.2), law.quantile(0.6)
    ('mixture:0.2=constant:0,0.8=geometric:100', 80.0, 0.0, 69.0)
    """
    weights: list[float] = []
    laws: list[Law] = []
    for weight, part in check_pairs("parts", parts, "(0.2, 'constant:0')"):
        check_number("weights", weight)
        if not 0 < weight <= 1:
            raise ValueError(f"weights must lie in (0, 1], got {weight}.")
        law = check_law("law of a mixture", part, independent=True)
        if not law.stationary:
            raise ValueError(
                "law of a mixture must not depend on the number of the episode, "
                f"got {law.name!r}; use the mixture within weekly or by_time instead."
            )
        weights.append(float(weight))
        laws.append(law)
    total = math.fsum(weights)
    if not abs(total - 1) <= WEIGHT_TOLERANCE:
        raise ValueError(f"weights must sum to 1, got {total:g}.")
    name = "mixture:" + format_entries(map(format_number, weights), laws)
    return MixtureLaw._of(name, [weight / total for weight in weights], laws)


def _mixture_quantiles(weights: tuple[float, ...], laws: tuple[Law, ...], p: Floats) -> Floats:
    """Return the smallest j with sum_i w_i F_i(j) >= p, for each entry p of `p`, or inf.

    Found by bisection; differences of ROUNDING count as equal.
    """
    pairs = list(zip(weights, laws, strict=True))
    return np.array([_mixture_quantile(pairs, target) for target in p.tolist()])


def _mixture_quantile(pairs: list[tuple[float, Law]], p: float) -> float:
    """Return the smallest j with sum_i w_i F_i(j) >= `p`, for `pairs` of w_i and law, or inf."""
    arrives = 1 - math.fsum(weight * _share_lost(law) for weight, law in pairs)
    if p > arrives + ROUNDING:
        return math.inf
    if p >= arrives - ROUNDING:  # all that arrives: the longest delay of each part
        return max(law.quantile(1 - _share_lost(law)) for _, law in pairs if _share_lost(law) < 1)
    # The quantile of a mixture lies between those of its parts.
    limits = [min(law.quantile(p), float(NEVER)) for _, law in pairs]
    if p == 0:
        return min(limits)

    def reaches(j: int) -> bool:
        return math.fsum(weight * _distribution(law, j) for weight, law in pairs) >= p - ROUNDING

    low, high = int(min(limits)) - 1, int(max(limits))
    if high == NEVER:
        high = max(1, low + 1)
        while high < NEVER and not reaches(high):
            low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return float(high) if high < NEVER else math.inf


def _share_lost(law: Law) -> float:
    """Return the share of feedback that never arrives under `law`."""
    if isinstance(law, MixtureLaw):
        pairs = zip(law.weights, law.laws, strict=True)
        return math.fsum(weight * _share_lost(part) for weight, part in pairs)
    return law._never


def _distribution(law: Law, j: int) -> float:
    """Return F(j) = P(tau <= j) of `law`, the largest p whose quantile is at most `j`."""
    if law.quantile(0.0) > j:
        return 0.0
    low, high = 0.0, 1.0
    if law.quantile(1.0) <= j:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if law.quantile(middle) <= j else (low, middle)
    return low
