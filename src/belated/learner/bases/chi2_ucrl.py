"""chi2-UCRL: optimism over a Pearson ball (Maillard et al. 2014; Neu, Pike-Burke 2020).

    { p : sum_y (p(y) - P^(y))^2 / P+(y) <= eps },   P+(y) = max(P^(y), 1 / N')

The exact form maximises <p, V> over the probability vectors in the ball. The bonus form drops the
constraint p >= 0, which gives beta = sqrt(eps sum_y P+(y) (V(y) - m)^2), where m is the
P+-weighted mean of V; its values are never below those of the exact form.

    radius       eps,   with l = ln(4 S^2 A T / delta)
    provable     (S / N') (sqrt(2 l N' / (N' - 1)) + 7 l N' / (3 (N' - 1)))^2
    practical    S l / N'

"provable" sums over y the two-sided empirical Bernstein bound (Maurer, Pontil 2009), divided by
P+(y) >= 1 / N'; at N' = 1 its ball contains all probability vectors. "practical" has no proof.

C = 0, B_1 = (H' / 2) sqrt(c) and B_2 = (H' / 2) sqrt(S c), where eps <= c / N': c = S l if
practical, c = S (2 sqrt(l) + 14 l / 3)^2 if provable.

Deviations: P+ in place of P^, because with P^ no p in the ball reaches a state that has not been
observed, which is not optimistic; finite horizon, with counts for each stage; the value of a row
without observations, or whose ball contains all probability vectors, is R + max V, or R + H' in
the bonus form.
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
def chi2_radius(constants: NDArray[np.float64], n: int) -> float:
    """Return eps of a row with `n` observations; `constants` are those of the backup rule.

    It is infinite if the ball contains all probability vectors.
    """
    factor, log, provable = constants  # factor = scale * S
    if not provable or factor == 0.0:
        return float(factor * log / n)
    if n == 1:
        return math.inf
    scaled_log = log * n / (n - 1)
    root = math.sqrt(2.0 * scaled_log) + 7.0 * scaled_log / 3.0
    return float(factor / n * (root * root))


@kernel
def weighted_moments(
    stage: Stage, row: Row, centre: float, min_observed: float, min_unobserved: float
) -> tuple[float, float, float, float]:
    """Return moments of x = V - centre with the weights N' P+, over a subset of the states.

    Parameters
    ----------
    stage : Stage
        Values of the next step.
    row : Row
        Observations, at least one.
    centre : float
        Number subtracted from V.
    min_observed, min_unobserved : float
        The subset: observed states with x >= min_observed, and unobserved states with
        x >= min_unobserved.

    Returns
    -------
    tuple[float, float, float, float]
        Total weight; mean of x; sum of squared deviations from the mean; lowest x of the unobserved
        states in the subset.
    """
    # Total weight, mean and lowest unobserved x.
    total = 0.0
    weighted = 0.0
    lowest = math.inf
    j = row.lo
    for y in range(stage.v.size):
        x = stage.v[y] - centre
        if j < row.hi and row.succ[j] == y:
            if x >= min_observed:
                total += row.m[j]
                weighted += row.m[j] * x
            j += 1
        elif x >= min_unobserved:
            total += 1.0
            weighted += x
            lowest = min(lowest, x)
    mean_x = weighted / total
    # Sum of squared deviations from the mean.
    squares = 0.0
    j = row.lo
    for y in range(stage.v.size):
        x = stage.v[y] - centre
        gap = x - mean_x
        if j < row.hi and row.succ[j] == y:
            if x >= min_observed:
                squares += row.m[j] * (gap * gap)
            j += 1
        elif x >= min_unobserved:
            squares += gap * gap
    return total, mean_x, squares, lowest


@kernel
def ball_reaches_best(stage: Stage, row: Row, eps: float) -> bool:
    """Return whether the ball contains a p with all its mass on the best states.

    Parameters
    ----------
    stage : Stage
        Values of the next step, with `top`.
    row : Row
        Observations, at least one.
    eps : float
        Radius of the ball, above 0.

    Returns
    -------
    bool
        Whether <p, V> = max V for some p in the ball.
    """
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
    # The closest such p adds the mass from elsewhere to the best states in proportion to P+.
    return elsewhere * (1.0 + elsewhere / weight) <= eps * row.n


@kernel
def max_over_chi2_ball(stage: Stage, row: Row, eps: float) -> float:
    """Return the largest <p, V> over the p >= 0 with sum_y (p(y) - P^(y))^2 / P+(y) <= eps.

    Without the constraint p >= 0, the maximiser is P^ + P+ (t (V - m) + shift). States with a
    negative result are removed until none is left (water filling). As P^ = 0 at unobserved states
    and P^ = P+ at observed ones, the removed states of either kind are those with the lowest V,
    below one threshold for each kind. Unobserved states with V below <P^, V> never have mass.

    Parameters
    ----------
    stage : Stage
        Values of the next step, with `top`.
    row : Row
        Observations, at least one.
    eps : float
        Radius of the ball, finite.

    Returns
    -------
    float
        Maximum, between <P^, V> and max V.
    """
    centre = mean(stage, row)
    if eps <= 0.0:
        return centre
    best = stage.top
    if ball_reaches_best(stage, row, eps):
        return max(centre, best)  # the mean of equal values may be rounded up
    # Thresholds of x = V - centre; states below them are removed.
    min_observed = -math.inf
    min_unobserved = 0.0
    gain = 0.0
    for _ in range(stage.v.size):
        # Moments of the remaining states.
        total, mean_x, squares, lowest_unobserved = weighted_moments(
            stage, row, centre, min_observed, min_unobserved
        )
        lowest = math.inf
        removed = 0.0  # observations of removed states; these use removed / N' of eps
        kept = 0.0
        for j in range(row.lo, row.hi):
            x = stage.v[row.succ[j]] - centre
            if x >= min_observed:
                kept += row.m[j] * x
                lowest = min(lowest, x)
            else:
                removed += row.m[j]
        # Maximiser over these states with the remaining radius, times N'.
        remaining = eps * row.n - removed - removed * removed / total
        if remaining <= 0.0 or squares < 1e-200:  # by rounding, if only the best states remain
            gain = (kept + removed * mean_x) / row.n
            break
        t = math.sqrt(remaining / squares)
        gain = (kept + removed * mean_x + t * squares) / row.n
        # Remove the states where it is negative, or stop if there are none.
        zero = mean_x - removed / (total * t)  # x at which t (x - mean_x) + shift = 0
        if lowest_unobserved >= zero and lowest >= zero - 1.0 / t:
            break
        min_unobserved = max(min_unobserved, zero)
        min_observed = max(min_observed, zero - 1.0 / t)
    return max(centre, min(best, centre + gain))


@kernel
def chi2_bonus(stage: Stage, row: Row, eps: float) -> float:
    """Return sqrt(eps sum_y P+(y) (V(y) - m)^2), an upper bound of the gain over the ball.

    Parameters
    ----------
    stage : Stage
        Values of the next step.
    row : Row
        Observations, at least one.
    eps : float
        Radius of the ball, finite.

    Returns
    -------
    float
        Bonus beta.
    """
    centre = mean(stage, row)
    _, _, squares, _ = weighted_moments(stage, row, centre, -math.inf, -math.inf)
    return math.sqrt(eps * squares / row.n)


@backup
def chi2_ucrl_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the values of `stage`; `constants` as in `chi2_radius`."""
    if row.n == 0:
        return anywhere(stage, row)
    eps = chi2_radius(constants, row.n)
    if eps == math.inf:
        return anywhere(stage, row)
    centre = mean(stage, row)
    return clipped(stage, row, centre, max_over_chi2_ball(stage, row, eps) - centre)


@backup
def chi2_ucrl_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the values of `stage`; `constants` as in `chi2_radius`."""
    if row.n == 0:
        return unseen(stage, row)
    eps = chi2_radius(constants, row.n)
    if eps == math.inf:
        return unseen(stage, row)
    return clipped(stage, row, mean(stage, row), chi2_bonus(stage, row, eps))


@dataclass(frozen=True)
class Chi2_UCRL(Base):
    """Optimism over a Pearson chi-squared ball of models.

    Parameters
    ----------
    form : {"exact", "bonus"}
        "exact" maximises over the ball; "bonus" adds a closed-form upper bound of the gain instead.
    radius : {"provable", "practical"}
        "practical" is much smaller, of the same order in S and N', and has no proof.
    delta, scale, monotone, ties
        See `Base`.
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
