"""chi2-UCRL: the best model in a Pearson ball (Maillard et al. 2014; Neu, Pike-Burke 2020).

    { p : sum_y (p(y) - P^(y))^2 / P+(y) <= eps },   P+(y) = max(P^(y), 1 / N')

The exact form maximises <p, V> over the ball within the simplex. The bonus form drops p >= 0,
which leaves beta = sqrt(eps sum_y P+(y) (V(y) - m)^2), where m is the P+-weighted mean of V, and
is never below it.

    radius       eps,   with l = ln(4 S^2 A T / delta)
    provable     (S / N') (sqrt(2 l N' / (N' - 1)) + 7 l N' / (3 (N' - 1)))^2
    practical    S l / N'

"provable" sums over y the two-sided empirical Bernstein bound (Maurer, Pontil 2009), divided by
P+(y) >= 1 / N'; at N' = 1 its ball is the whole simplex. C = 0, B_1 = (H' / 2) sqrt(c) and
B_2 = (H' / 2) sqrt(S c), where eps <= c / N': c = S l if practical, S (2 sqrt(l) + 14 l / 3)^2 if
provable. Deviations: the published reference is P^ itself, which forbids every state not yet
observed and so is not optimistic, hence P+; finite horizon, with counts per stage; an unseen row,
and a row whose ball is the whole simplex, is worth R + max V, or R + H' in the bonus form.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice
from belated.compiled import kernel
from belated.episode import Shape
from belated.learner.backup import Row, Stage, anywhere, backup, clipped, mean, unseen
from belated.learner.bases.base import BackupRule, Base


@kernel
def budget(constants: NDArray[np.float64], n: int) -> float:
    """eps of a row seen `n` times; infinite where the ball is the whole simplex."""
    factor, log, provable = constants  # factor = scale * S
    if not provable or factor == 0.0:
        return float(factor * log / n)
    if n == 1:
        return math.inf
    wider = log * n / (n - 1)
    root = math.sqrt(2.0 * wider) + 7.0 * wider / 3.0
    return float(factor / n * (root * root))


@kernel
def moments(
    stage: Stage, row: Row, centre: float, cut: float, cut_new: float
) -> tuple[float, float, float, float]:
    """Total, mean and sum of squares around it of x = V - centre under N' P+, and a lowest x.

    These are over the observed states with x >= cut and the others with x >= cut_new; the lowest
    x is that of these others.
    """
    total = 0.0
    weighted = 0.0
    lowest = math.inf
    j = row.lo
    for y in range(stage.v.size):
        x = stage.v[y] - centre
        if j < row.hi and row.succ[j] == y:
            if x >= cut:
                total += row.m[j]
                weighted += row.m[j] * x
            j += 1
        elif x >= cut_new:
            total += 1.0
            weighted += x
            lowest = min(lowest, x)
    middle = weighted / total
    squares = 0.0
    j = row.lo
    for y in range(stage.v.size):
        x = stage.v[y] - centre
        gap = x - middle
        if j < row.hi and row.succ[j] == y:
            if x >= cut:
                squares += row.m[j] * (gap * gap)
            j += 1
        elif x >= cut_new:
            squares += gap * gap
    return total, middle, squares, lowest


@kernel
def reaches_best(stage: Stage, row: Row, eps: float) -> bool:
    """Whether the ball holds a p with all its mass on the best states."""
    best = stage.top
    elsewhere = float(row.n)
    weight = 0.0
    j = row.lo
    for y in range(stage.v.size):
        m = 0
        if j < row.hi and row.succ[j] == y:
            m = row.m[j]
            j += 1
        if stage.v[y] == best:
            weight += max(1, m)
            elsewhere -= m
    # The nearest such p adds to P^ on the best states in proportion to P+.
    return elsewhere * (1.0 + elsewhere / weight) <= eps * row.n


@kernel
def max_chi2(stage: Stage, row: Row, eps: float) -> float:
    """The largest <p, V> over the simplex with sum_y (p(y) - P^(y))^2 / P+(y) <= eps.

    Water filling: without p >= 0 the maximiser is P^ + P+ (t (V - m) + rise), and the states it
    makes negative get no mass. As P^ = 0 on the states never observed and P^ = P+ on the others,
    either kind loses its lowest values, and two cuts tell what is left. No state never observed
    has mass below <P^, V>: that is the first cut.
    """
    centre = mean(stage, row)
    if eps <= 0.0:
        return centre
    best = stage.top
    if reaches_best(stage, row, eps):
        return max(centre, best)  # the mean of equal values may be rounded up
    cut = -math.inf
    cut_new = 0.0
    gain = 0.0
    for _ in range(stage.v.size):
        total, middle, squares, lowest_new = moments(stage, row, centre, cut, cut_new)
        lowest = math.inf
        lost = 0.0  # observations of states without mass; these also use up lost / N' of eps
        kept = 0.0
        for j in range(row.lo, row.hi):
            x = stage.v[row.succ[j]] - centre
            if x >= cut:
                kept += row.m[j] * x
                lowest = min(lowest, x)
            else:
                lost += row.m[j]
        left = eps * row.n - lost - lost * lost / total
        if left <= 0.0 or squares < 1e-200:  # by rounding, where only the best are left
            gain = (kept + lost * middle) / row.n
            break
        t = math.sqrt(left / squares)
        gain = (kept + lost * middle + t * squares) / row.n
        zero = middle - lost / (total * t)  # where t (x - middle) + rise = 0
        if lowest_new >= zero and lowest >= zero - 1.0 / t:
            break
        cut_new = max(cut_new, zero)
        cut = max(cut, zero - 1.0 / t)
    return max(centre, min(best, centre + gain))


@kernel
def bonus(stage: Stage, row: Row, eps: float) -> float:
    """sqrt(eps sum_y P+(y) (V(y) - m)^2)."""
    everything = -math.inf
    _, _, squares, _ = moments(stage, row, mean(stage, row), everything, everything)
    return math.sqrt(eps * squares / row.n)


@backup
def chi2_ucrl_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return anywhere(stage, row)
    eps = budget(constants, row.n)
    if eps == math.inf:
        return anywhere(stage, row)
    centre = mean(stage, row)
    return clipped(stage, row, centre, max_chi2(stage, row, eps) - centre)


@backup
def chi2_ucrl_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return unseen(stage, row)
    eps = budget(constants, row.n)
    if eps == math.inf:
        return unseen(stage, row)
    return clipped(stage, row, mean(stage, row), bonus(stage, row, eps))


@dataclass(frozen=True)
class Chi2_UCRL(Base):
    """Optimism over a Pearson chi-squared ball of models.

    - `form`: "exact" maximises over the ball; "bonus" adds a closed-form upper bound instead.
    - `radius`: "provable", or the much smaller "practical", which has the same order in S and N'
      but no proof.
    """

    form: Literal["exact", "bonus"] = "exact"
    radius: Literal["provable", "practical"] = "provable"

    name = "chi2-ucrl"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, ("exact", "bonus"))
        check_choice("radius", self.radius, ("provable", "practical"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        log = math.log(4 * S * S * A * (episodes * H) / self.delta)
        function = chi2_ucrl_exact if self.form == "exact" else chi2_ucrl_bonus
        constants = np.array([self.scale * S, log, float(self.radius == "provable")])
        return BackupRule(function, constants, reads="everything")
