"""How much bonuses can add up to: the counting lemmas, as bounds and for sequences at hand.

The sums along the paths of a run are in `belated.theory.visits`.
"""

import math
from collections.abc import Sequence

from belated.episode import Floats, Shape
from belated.theory.inputs import check_alpha, check_episodes


def visit_bound(shape: Shape, episodes: int, *, missing: float, power: float) -> float:
    """Lemma 3: the most that (1 v N')^-p of the triples played can add up to over K episodes.

        power 1/2    4 sqrt(HSAT) + 3 HSA psi
        power 1      2 HSA ln(8T) + HSA psi ln(16 psi)

    `missing` is psi, or any other number that no S_k is above. Both terms with psi are 0 where
    nothing is missing.

    >>> round(visit_bound(Shape(5, 2, 5), 10_000, missing=0, power=0.5))
    6325
    """
    H, S, A = shape.table
    HSA = H * S * A
    steps = check_episodes(episodes) * H
    if not missing >= 0:
        raise ValueError(f"missing is {missing}; it must be at least 0.")
    check_power(power)
    if power == 0.5:
        return 4 * math.sqrt(HSA * steps) + 3 * HSA * missing
    late = missing * max(0.0, math.log(16 * missing)) if missing > 0 else 0.0
    return HSA * (2 * math.log(8 * steps) + late)


def lazy_bound(total: float, alpha: float, *, power: float) -> float:
    """Lemma 5: the most that n_j / N_{j-1}^p can add up to when N_J = `total`.

        power 1/2    (1 + sqrt(2) (1 + 1/alpha)) sqrt(N_J)
        power 1      (1 + 1/alpha) (1 + ln N_J)

    It is about numbers n_j of at most N_{j-1} / alpha, where N_j = max(1, n_1 + ... + n_j): what is
    observed of a triple in an epoch, the last episode left out.
    """
    if not total >= 1:
        raise ValueError(f"total is {total}; it must be at least 1.")
    factor = 1 + 1 / check_alpha(alpha)
    check_power(power)
    if power == 0.5:
        return (1 + math.sqrt(2) * factor) * math.sqrt(total)
    return factor * (1 + math.log(total))


def lazy_sum(observed: Sequence[float] | Floats, *, power: float) -> float:
    """The left-hand side of Lemma 5 for n_1, ..., n_J.

    >>> lazy_sum([1, 1, 2, 4], power=1)
    4.0
    """
    check_power(power)
    total = 0.0
    added = 0.0
    for n in observed:
        added += n / max(1.0, total) ** power
        total += n
    return added


def check_power(power: float) -> None:
    """Refuse what is not p = 1/2, which belongs to B_1, or p = 1, which belongs to B_2."""
    if power not in (0.5, 1):
        raise ValueError(f"power is {power}; it must be 0.5 or 1.")
