"""UCRL2B: the best model in a box of Bernstein intervals (Fruit, Pirotta, Lazaric 2020).

    { p : |p(y) - P^(y)| <= b(y) for every y }
    b(y) = 2 sqrt(P^(y) (1 - P^(y)) l / N') + 6 l / N',   l = ln(6 S A H N' / delta)

The exact form maximises <p, V> over the box within the simplex. The bonus form drops p >= 0,
which leaves beta = min_c sum_y b(y) |V(y) - c|; the minimiser c is the b-weighted median of V,
and the result is never below the exact one.

C = 0, and c = <P^, V> shows B_1 = 2 sqrt(G Var_P^(V) l), B_2 = 6 S H' l, with G the number of
observed successors. Deviations: finite horizon, with counts per stage, hence the H in the log;
an unseen row is worth R + max V, or R + H' in the bonus form.
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
def seen(row: Row, y: int) -> int:
    """M'(h, s, a, y), zero where y has not been observed."""
    lo, hi = row.lo, row.hi
    while lo < hi:
        middle = (lo + hi) // 2
        if row.succ[middle] < y:
            lo = middle + 1
        else:
            hi = middle
    return int(row.m[lo]) if lo < row.hi and row.succ[lo] == y else 0


@kernel
def width(row: Row, m: int, scale: float, log: float) -> float:
    """b(y) of a state observed m times; `log` is l."""
    p = m / row.n
    return scale * (2.0 * math.sqrt(p * (1.0 - p) * log / row.n) + 6.0 * log / row.n)


@kernel
def maximum(stage: Stage, row: Row, scale: float, log: float) -> float:
    """The largest <p, V> over the simplex with |p - P^| <= b.

    Every state falls to the lower end of its interval, and what that frees fills the intervals
    from the best state downwards. No p(y) passes 1, as what is free and what is left sum to 1.
    """
    top = stage.top
    free = 0.0
    gain = 0.0
    for j in range(row.lo, row.hi):
        fall = min(row.m[j] / row.n, width(row, row.m[j], scale, log))
        free += fall
        gain += fall * (top - stage.v[row.succ[j]])
    for y in stage.order:
        if free <= 0.0:
            break
        m = seen(row, y)
        b = width(row, m, scale, log)
        filled = min(free, min(m / row.n, b) + b)
        free -= filled
        gain -= filled * (top - stage.v[y])
    return min(top, mean(stage, row) + gain)


@kernel
def deviation(stage: Stage, row: Row, scale: float, log: float) -> float:
    """min_c sum_y b(y) |V(y) - c|."""
    least = width(row, 0, scale, log)  # b of a state never observed
    total = least * (stage.v.size - (row.hi - row.lo))
    for j in range(row.lo, row.hi):
        total += width(row, row.m[j], scale, log)
    median = 0.0
    passed = 0.0
    for y in stage.order:
        median = stage.v[y]
        passed += width(row, seen(row, y), scale, log)
        if 2.0 * passed >= total:
            break
    beta = 0.0
    for y in range(stage.v.size):
        beta += least * abs(stage.v[y] - median)
    for j in range(row.lo, row.hi):
        more = width(row, row.m[j], scale, log) - least
        beta += more * abs(stage.v[row.succ[j]] - median)
    return beta


@backup
def ucrl2b_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return anywhere(stage, row)
    scale, inside = constants
    # Eq. 4 with beta = max <p, V> - <P^, V>, which V <= H' keeps below H' already.
    return min(cap(stage), row.reward + maximum(stage, row, scale, math.log(inside * row.n)))


@backup
def ucrl2b_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return unseen(stage, row)
    scale, inside = constants
    beta = deviation(stage, row, scale, math.log(inside * row.n))
    return clipped(stage, row, mean(stage, row), beta)


@dataclass(frozen=True)
class UCRL2B(Base):
    """Optimism over a box of models, one Bernstein interval for each next state.

    - `form`: "exact" maximises over the box; "bonus" adds a closed-form upper bound instead.
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
