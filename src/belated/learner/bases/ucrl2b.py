"""UCRL2B: optimism over a box of Bernstein intervals (Fruit, Pirotta, Lazaric 2020).

    { p : |p(y) - P^(y)| <= b(y) for every y }
    b(y) = 2 sqrt(P^(y) (1 - P^(y)) l / N') + 6 l / N',   l = ln(6 S A H N' / delta)

The exact form maximises <p, V> over the probability vectors in the box. The bonus form drops the
constraint p >= 0, which gives beta = min_c sum_y b(y) |V(y) - c|, where the minimiser c is the
b-weighted median of V; its values are never below those of the exact form.

C = 0, B_1 = 2 sqrt(G Var_P^(V) l) and B_2 = 6 S H' l, with G the number of observed successors;
this follows from c = <P^, V>.

Deviations: finite horizon, with counts for each stage, hence the H in the logarithm; the value of a
row without observations is R + max V, or R + H' in the bonus form.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice
from belated.compiled import kernel
from belated.episode import Shape
from belated.learner.backup import Row, Stage, anywhere, backup, cap, clipped, mean, unseen
from belated.learner.bases.base import BackupRule, Base


@kernel
def observed_count(row: Row, y: int) -> int:
    """Return M'(h, s, a, y), how often the state `y` was observed as the successor of `row`."""
    lo, hi = row.lo, row.hi
    while lo < hi:
        middle = (lo + hi) // 2
        if row.succ[middle] < y:
            lo = middle + 1
        else:
            hi = middle
    return int(row.m[lo]) if lo < row.hi and row.succ[lo] == y else 0


@kernel
def half_width(row: Row, m: int, scale: float, log: float) -> float:
    """Return b(y), half the width of the interval of a successor.

    Parameters
    ----------
    row : Row
        Observations, at least one.
    m : int
        Number of observations of the successor.
    scale : float
        Factor of b.
    log : float
        The logarithm l.

    Returns
    -------
    float
        b(y), not cut off at probability 0 or 1.
    """
    p = m / row.n
    return scale * (2.0 * math.sqrt(p * (1.0 - p) * log / row.n) + 6.0 * log / row.n)


@kernel
def max_over_box(stage: Stage, row: Row, scale: float, log: float) -> float:
    """Return the largest <p, V> over the probability vectors p with |p - P^| <= b.

    Parameters
    ----------
    stage : Stage
        Values of the next step, with `top` and `order`.
    row : Row
        Observations, at least one.
    scale, log : float
        See `half_width`.

    Returns
    -------
    float
        Maximum, between <P^, V> and max V.
    """
    top = stage.top
    # Lower every probability to the lower end of its interval.
    free = 0.0
    gain = 0.0
    for j in range(row.lo, row.hi):
        removed = min(row.m[j] / row.n, half_width(row, row.m[j], scale, log))
        free += removed
        gain += removed * (top - stage.v[row.succ[j]])
    # Distribute the free mass: fill the intervals, best state first. No p(y) exceeds 1, because
    # the free and the remaining mass add up to 1.
    for y in stage.order:
        if free <= 0.0:
            break
        m = observed_count(row, y)
        b = half_width(row, m, scale, log)
        added = min(free, min(m / row.n, b) + b)
        free -= added
        gain -= added * (top - stage.v[y])
    return min(top, mean(stage, row) + gain)


@kernel
def box_bonus(stage: Stage, row: Row, scale: float, log: float) -> float:
    """Return min_c sum_y b(y) |V(y) - c|, an upper bound of the gain over the box.

    Parameters
    ----------
    stage : Stage
        Values of the next step, with `order`.
    row : Row
        Observations, at least one.
    scale, log : float
        See `half_width`.

    Returns
    -------
    float
        Bonus beta.
    """
    # Sum of b; all states without observations have the same, smallest b.
    smallest = half_width(row, 0, scale, log)
    total = smallest * (stage.v.size - (row.hi - row.lo))
    for j in range(row.lo, row.hi):
        total += half_width(row, row.m[j], scale, log)
    # Weighted median of V.
    median = 0.0
    cumulative = 0.0
    for y in stage.order:
        median = stage.v[y]
        cumulative += half_width(row, observed_count(row, y), scale, log)
        if 2.0 * cumulative >= total:
            break
    # Weighted deviation from it: the smallest b of every state, then the excess of the observed.
    beta = 0.0
    for y in range(stage.v.size):
        beta += smallest * abs(stage.v[y] - median)
    for j in range(row.lo, row.hi):
        excess = half_width(row, row.m[j], scale, log) - smallest
        beta += excess * abs(stage.v[row.succ[j]] - median)
    return beta


@backup
def ucrl2b_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the values of `stage`; `constants` are scale and e^l / N'."""
    if row.n == 0:
        return anywhere(stage, row)
    scale, log_factor = constants
    # Eq. 4 with beta = max <p, V> - <P^, V>, which is at most H' since V <= H'.
    best = max_over_box(stage, row, scale, math.log(log_factor * row.n))
    return min(cap(stage), row.reward + best)


@backup
def ucrl2b_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the values of `stage`; `constants` are scale and e^l / N'."""
    if row.n == 0:
        return unseen(stage, row)
    scale, log_factor = constants
    beta = box_bonus(stage, row, scale, math.log(log_factor * row.n))
    return clipped(stage, row, mean(stage, row), beta)


@dataclass(frozen=True)
class UCRL2B(Base):
    """Optimism over a box of models, with one Bernstein interval for each successor.

    Parameters
    ----------
    form : {"exact", "bonus"}
        "exact" maximises over the box; "bonus" adds a closed-form upper bound of the gain instead.
    delta, scale, monotone, ties
        See `Base`.
    """

    form: Literal["exact", "bonus"] = "exact"

    name = "ucrl2b"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, ("exact", "bonus"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        function = ucrl2b_exact if self.form == "exact" else ucrl2b_bonus
        constants = np.array([self.scale, 6 * S * A * H / self.delta])
        return BackupRule(function, constants, reads="order")
