"""UCRL2B: optimism over a box of Bernstein intervals (Fruit, Pirotta, Lazaric 2020).

    { p : |p(y) - P^(y)| <= b(y) for every y }
    b(y) = 2 sqrt(P^(y) (1 - P^(y)) l / N') + 6 l / N',   l = ln(6 S A H N' / delta)

V is V~_{h+1}. The exact form maximises <p, V> over the probability vectors in the box. The bonus
form drops the constraint p >= 0, so that the maximum is <P^, V> + beta with
beta = min_c sum_y b(y) |V(y) - c|; the minimiser c is the b-weighted median of V. The values of the
bonus form are never below those of the exact form.

The constants of the bonus are C = 0, B_1 = 2 sqrt(G Var_P^(V) l) and B_2 = 6 S H' l, where G is the
number of observed successors. They follow from the choice c = <P^, V>.

Deviations from the publication: the horizon is finite, and there are counts for each stage,
therefore the logarithm contains H. The value of a row without observations is R + max V, or R + H'
in the bonus form.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.elementary import log
from belated.episode import Shape
from belated.learner.backup import (
    Row,
    RowTerms,
    Stage,
    anywhere,
    backup,
    cap,
    clipped,
    mean,
    unseen,
)
from belated.learner.bases.base import BackupRule, Base, Proof


@inlined
def observed_count(row: Row, y: int) -> int:
    """Return M'(h, s, a, y), the number of observed transitions from `row` to the state `y`."""
    lo, hi = row.lo, row.hi
    if lo == hi or y < row.succ[lo] or y > row.succ[hi - 1]:  # the usual case
        return 0
    while lo < hi:
        middle = (lo + hi) // 2
        if row.succ[middle] < y:
            lo = middle + 1
        else:
            hi = middle
    return int(row.m[lo]) if lo < row.hi and row.succ[lo] == y else 0


@inlined
def half_width(row: Row, m: int, scale: float, log: float) -> float:
    """Return b(y), half the width of the confidence interval of p(y) for a successor y.

    Parameters
    ----------
    row : Row
        Counts of (h, s, a), with N' at least 1.
    m : int
        Number of observations of the successor, M'(h, s, a, y).
    scale : float
        Factor of b; 1 is as published.
    log : float
        Logarithmic term l = ln(6 S A H N' / delta).

    Returns
    -------
    float
        b(y). The interval P^(y) - b(y) .. P^(y) + b(y) may extend below 0 and above 1.
    """
    p = m / row.n
    return scale * (2.0 * math.sqrt(p * (1.0 - p) * log / row.n) + 6.0 * log / row.n)


@inlined
def max_over_box(stage: Stage, row: Row, scale: float, log: float) -> tuple[float, float]:
    """Return the largest <p, V> over the probability vectors p in the box, and its level.

    V is V~_{h+1}. The box is the set of p with |p(y) - P^(y)| <= b(y) for every state y, where b(y)
    is the result of `half_width`.

    Parameters
    ----------
    stage : Stage
        Values V of the next step, with their maximum `stage.top` and their order `stage.order`.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    scale, log : float
        Factor of b, and its logarithmic term; see `half_width`.

    Returns
    -------
    tuple[float, float]
        The maximum, which lies between <P^, V> and max V; and the lowest V among the best states,
        which receive the mass. Other values of V are not read, except those of the successors.
    """
    top = stage.top
    level = top
    smallest = scale * (6.0 * log / row.n)  # b of the states without observations
    # Lower every probability to the lower end of its interval; b is at least the smallest b.
    free = 0.0
    gain = 0.0
    for j in range(row.lo, row.hi):
        removed = row.m[j] / row.n
        if removed > smallest:
            removed = min(removed, half_width(row, row.m[j], scale, log))
        free += removed
        gain += removed * (top - stage.v[row.succ[j]])
    # Distribute the free mass: fill the intervals, best state first. No p(y) exceeds 1, because
    # the free and the remaining mass add up to 1.
    for y in stage.order:
        if free <= 0.0:
            break
        m = observed_count(row, y)
        added = min(free, smallest)
        if m > 0:
            b = half_width(row, m, scale, log)
            added = min(free, min(m / row.n, b) + b)
        free -= added
        level = stage.v[y]
        gain -= added * (top - level)
    return min(top, mean(stage, row) + gain), level


@kernel
def box_bonus(stage: Stage, row: Row, scale: float, log: float) -> float:
    """Return the bonus beta = min_c sum_y b(y) |V(y) - c|.

    V is V~_{h+1}. The bonus is an upper bound on <p, V> - <P^, V> for every probability vector p
    with |p(y) - P^(y)| <= b(y) for every state y, where b(y) is the result of `half_width`.

    Parameters
    ----------
    stage : Stage
        Values V of the next step, with their order `stage.order`.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    scale, log : float
        Factor of b, and its logarithmic term; see `half_width`.

    Returns
    -------
    float
        The bonus.
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
        m = observed_count(row, y)
        cumulative += half_width(row, m, scale, log) if m > 0 else smallest
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


@inlined
def ucrl2b_terms(constants: NDArray[np.float64], n: int) -> tuple[float, float]:
    """Return the terms of a row with `n` observations: l = ln(6 S A H n / delta), and 0.

    The second term is not used. `constants` is described at `ucrl2b_exact`.
    """
    return log(constants[1] * n), 0.0


@inlined
def back_up_over_box(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: tuple[float, float]
) -> tuple[float, float]:
    """Return Q_h(s, a) of a row with observations, with the maximum of <p, V> over the box.

    Parameters
    ----------
    constants : NDArray
        See `ucrl2b_exact`.
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    terms : tuple[float, float]
        Result of `ucrl2b_terms`.

    Returns
    -------
    tuple[float, float]
        Optimistic value of the row, and its level.
    """
    # Eq. 4 with beta = max <p, V> - <P^, V>, which is at most H' since V <= H'.
    best, level = max_over_box(stage, row, constants[0], terms[0])
    return min(cap(stage), row.reward + best), level


@backup(terms=RowTerms(ucrl2b_terms, back_up_over_box, has_level=True))
def ucrl2b_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the maximum of <p, V> over the box.

    This is the form "exact", where p is a probability vector. `stage` holds V = V~_{h+1}.
    `constants` holds the scale, and 6 S A H / delta, the factor of N' in the logarithm.
    """
    if row.n == 0:
        return anywhere(stage, row)
    return back_up_over_box(constants, stage, row, ucrl2b_terms(constants, row.n))[0]


@backup
def ucrl2b_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` in the bonus form, with the bonus `box_bonus`.

    `stage` holds V = V~_{h+1}. `constants` holds the scale, and 6 S A H / delta, the factor of N'
    in the logarithm.
    """
    if row.n == 0:
        return unseen(stage, row)
    scale, log_factor = constants
    beta = box_bonus(stage, row, scale, log(log_factor * row.n))
    return clipped(stage, row, mean(stage, row), beta)


@dataclass(frozen=True)
class UCRL2B(Base):
    """Base algorithm UCRL2B: optimism over a box of transition probabilities.

    The box has one Bernstein confidence interval for the probability of each successor.

    Parameters
    ----------
    form : {"exact", "bonus"}
        "exact" maximises <p, V~_{h+1}> over the box; "bonus" adds an upper bound in closed form,
        the bonus, to <P^, V~_{h+1}>.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=UCRL2B(scale=0.1), **setting).total_regret, 1)
    22.2
    """

    form: Literal["exact", "bonus"] = "exact"

    name = "ucrl2b"
    proofs = (
        Proof(
            "Fruit, Pirotta, Lazaric 2020",
            "each, pooled",
            "published for pooled counts; H in the logarithm covers counts for each step",
        ),
    )

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        function = ucrl2b_exact if self.form == "exact" else ucrl2b_bonus
        constants = np.array([self.scale, 6 * S * A * H / self.delta])
        return BackupRule(function, constants, reads="order")
