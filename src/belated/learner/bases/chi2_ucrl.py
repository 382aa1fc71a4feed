"""chi2-UCRL: optimism over a Pearson ball (Maillard et al. 2014; Neu, Pike-Burke 2020).

    { p : sum_y (p(y) - P^(y))^2 / P+(y) <= eps },   P+(y) = max(P^(y), 1 / N')

V is V~_{h+1}. The exact form maximises <p, V> over the probability vectors in the ball. The bonus
form drops the constraint p >= 0, so that the maximum is <P^, V> + beta with
beta = sqrt(eps sum_y P+(y) (V(y) - m)^2), where m is the P+-weighted mean of V. The values of the
bonus form are never below those of the exact form.

    radius       eps,   with l = ln(4 S^2 A T / delta)
    provable     (S / N') (sqrt(2 l N' / (N' - 1)) + 7 l N' / (3 (N' - 1)))^2
    practical    S l / N'

The radius "provable" is a sum over y of the squared two-sided empirical Bernstein bound (Maurer,
Pontil 2009) on |p(y) - P^(y)|, divided by P+(y) >= 1 / N'. At N' = 1 the ball with this radius
contains all probability vectors. No proof is known for the radius "practical".

The constants of the bonus are C = 0, B_1 = (H' / 2) sqrt(c) and B_2 = (H' / 2) sqrt(S c), where c
satisfies eps <= c / N': c = S l for "practical", and c = S (2 sqrt(l) + 14 l / 3)^2 for "provable".

Deviations from the publications:

- P+ replaces P^ in the denominator. With P^, no p in the ball has mass on an unobserved state, so
  that the values would not be optimistic.
- The horizon is finite, and there are counts for each stage.
- The value of a row is R + max V, or R + H' in the bonus form, if the row has no observations or if
  its ball contains all probability vectors.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Shape
from belated.learner.backup import Row, RowTerms, Stage, anywhere, backup, clipped, mean, unseen
from belated.learner.bases.base import BackupRule, Base, Proof

MIN_DISTANCE = 1e-6
"""Distance of V from the threshold, relative to max V - <P^, V>, at which a state is certainly on
one side of it. Rounding errors are smaller by many orders of magnitude."""

MIN_SQUARES = 1e-200
"""Weighted sum of squared deviations of V below which they are treated as 0."""


@kernel
def weighted_moments(
    stage: Stage, row: Row, centre: float, min_observed: float, min_unobserved: float
) -> tuple[float, float, float, float]:
    """Return weighted moments of x = V - centre over a subset of the next states.

    V is V~_{h+1}. The weight of a state y is N' P+(y) = max(M'(h, s, a, y), 1).

    Parameters
    ----------
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    centre : float
        Number subtracted from V.
    min_observed : float
        An observed successor is in the subset if its x is at least this number.
    min_unobserved : float
        An unobserved state is in the subset if its x is at least this number.

    Returns
    -------
    tuple[float, float, float, float]
        Total weight; weighted mean of x; weighted sum of the squared deviations of x from this
        mean; lowest x of the unobserved states in the subset, infinite if there are none.
    """
    S = stage.v.size
    # Total weight, mean and lowest unobserved x, in the order of the states.
    total = 0.0
    weighted = 0.0
    lowest = math.inf
    first = 0
    for j in range(row.lo, row.hi + 1):
        end = int(row.succ[j]) if j < row.hi else S
        for y in range(first, end):  # unobserved
            x = stage.v[y] - centre
            if x >= min_unobserved:
                total += 1.0
                weighted += x
                lowest = min(lowest, x)
        if j < row.hi:
            x = stage.v[end] - centre
            if x >= min_observed:
                total += row.m[j]
                weighted += row.m[j] * x
        first = end + 1
    mean_x = weighted / total
    # Sum of squared deviations from the mean.
    squares = 0.0
    first = 0
    for j in range(row.lo, row.hi + 1):
        end = int(row.succ[j]) if j < row.hi else S
        for y in range(first, end):
            x = stage.v[y] - centre
            gap = x - mean_x
            squares += (x >= min_unobserved) * (gap * gap)  # faster than a branch
        if j < row.hi:
            x = stage.v[end] - centre
            gap = x - mean_x
            if x >= min_observed:
                squares += row.m[j] * (gap * gap)
        first = end + 1
    return total, mean_x, squares, lowest


@kernel
def ball_reaches_best(stage: Stage, row: Row, eps: float) -> bool:
    """Return whether some p in the chi-squared ball has all its mass on the best next states.

    p is a probability vector. The best states are those where V = V~_{h+1} is largest.

    Parameters
    ----------
    stage : Stage
        Values V of the next step; `stage.top` is their maximum.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    eps : float
        Radius of the ball, above 0.

    Returns
    -------
    bool
        Whether <p, V> = max V for some p in the ball.
    """
    best = stage.top
    elsewhere = float(row.n)
    # The condition below holds for all values if it holds for the largest possible mass elsewhere
    # and the smallest possible weight; rounding is monotone, so this is exact.
    if elsewhere * (1.0 + elsewhere) <= eps * row.n:
        return True
    weight = 0  # an integer, so that the compiler vectorises the sum
    for y in range(stage.v.size):
        weight += stage.v[y] == best
    for j in range(row.lo, row.hi):
        if stage.v[row.succ[j]] == best:
            weight += row.m[j] - 1
            elsewhere -= row.m[j]
    # The closest such p adds the mass from elsewhere to the best states in proportion to P+.
    return elsewhere * (1.0 + elsewhere / weight) <= eps * row.n


@inlined
def is_support(
    stage: Stage, row: Row, centre: float, limits: tuple[float, float], zeros: tuple[float, float]
) -> bool:
    """Return whether a subset of the next states is certainly the support of the maximiser.

    It is if the expression whose sign decides about a state is positive in the subset and negative
    elsewhere. It must differ clearly from 0 in every state, so that rounding has no influence.

    Parameters
    ----------
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    centre : float
        Mean of the next value, <P^, V>.
    limits : tuple[float, float]
        Smallest x = V - centre in the subset, of unobserved states and of observed ones.
    zeros : tuple[float, float]
        x at which the expression is 0, for unobserved states and for observed ones.

    Returns
    -------
    bool
        Whether no x is close to its zero, or between its zero and its limit.
    """
    margin = MIN_DISTANCE * (stage.top - centre)
    low, high = min(limits[0], zeros[0] - margin), max(limits[0], zeros[0] + margin)
    between = 0
    for y in range(stage.v.size):
        x = stage.v[y] - centre
        between += (x >= low) & (x < high)
    low_observed = min(limits[1], zeros[1] - margin)
    high_observed = max(limits[1], zeros[1] + margin)
    for j in range(row.lo, row.hi):
        x = stage.v[row.succ[j]] - centre
        between -= (x >= low) & (x < high)
        if low_observed <= x < high_observed:
            return False
    return between == 0


@inlined
def level_of_support(stage: Stage, centre: float, limit: float, zero: float) -> float:
    """Return a number such that unobserved states with V below it have no effect on the maximum.

    The support of the maximiser is known to be certain; see `is_support`.

    Parameters
    ----------
    stage : Stage
        Values V of the next step; `stage.top` is their maximum.
    centre : float
        Mean of the next value, <P^, V>.
    limit, zero : float
        Elements of the arguments `limits` and `zeros` of `is_support` for unobserved states.

    Returns
    -------
    float
        The level, at least `centre`. While V of a state remains below it, the state is not in the
        support, and this remains certain.
    """
    margin = MIN_DISTANCE * (stage.top - centre)
    low = min(limit, zero - margin)  # as in `is_support`
    level = centre + (low - margin)
    # rounding is monotone, so that V - centre < low for every V below the level
    return max(centre, level) if level - centre < low else centre


@inlined
def max_over_chi2_ball(stage: Stage, row: Row, centre: float, eps: float) -> tuple[float, float]:
    """Return the largest <p, V> over the probability vectors p in the chi-squared ball of a row.

    The ball is the set of p with sum_y (p(y) - P^(y))^2 / P+(y) <= eps, where
    P+(y) = max(P^(y), 1 / N'), and V is V~_{h+1}. Without the constraint p >= 0, the maximiser is
    P^ + P+ (t (V - m) + shift), where m is the P+-weighted mean of V and t and shift are numbers.
    States where this expression is negative are removed, and the maximiser over the remaining
    states is computed. This is repeated until no state is removed (water filling).

    P^ = 0 at unobserved states, and P^ = P+ at observed states. Therefore a state is removed if V
    is below a threshold; one threshold applies to observed states, another to unobserved states.
    Unobserved states with V below <P^, V> never have mass.

    Parameters
    ----------
    stage : Stage
        Values V of the next step; `stage.top` is their maximum.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    centre : float
        Mean of the next value, <P^, V>.
    eps : float
        Radius of the ball, finite.

    Returns
    -------
    tuple[float, float]
        The maximum, which lies between <P^, V> and max V; and the level: except for those of the
        successors, values of V below it have no effect.
    """
    best = stage.top
    if eps <= 0.0:
        return centre, best
    if ball_reaches_best(stage, row, eps):
        return max(centre, best), best  # the mean of equal values may be rounded up
    # Thresholds of x = V - centre; states below them are removed.
    min_unobserved, min_observed = 0.0, -math.inf
    gain = 0.0
    level = centre
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
        is_degenerate = not remaining > 0.0 or not squares >= MIN_SQUARES
        t = math.sqrt(remaining / squares) if not is_degenerate else 0.0
        gain = (kept + removed * mean_x + t * squares) / row.n
        if is_degenerate:  # by rounding, if only the best states remain
            break
        # Remove the states where it is negative, or stop if there are none.
        zero = mean_x - removed / (total * t)  # x at which t (x - mean_x) + shift = 0
        zero_observed = zero - 1.0 / t
        if lowest_unobserved >= zero and lowest >= zero_observed:
            limits = min_unobserved, min_observed
            if is_support(stage, row, centre, limits, (zero, zero_observed)):
                level = level_of_support(stage, centre, min_unobserved, zero)
            break
        min_unobserved = max(min_unobserved, zero)
        min_observed = max(min_observed, zero_observed)
    return max(centre, min(best, centre + gain)), level


@kernel
def chi2_bonus(stage: Stage, row: Row, eps: float) -> float:
    """Return the bonus beta = sqrt(eps sum_y P+(y) (V(y) - m)^2).

    V is V~_{h+1}, P+(y) = max(P^(y), 1 / N'), and m is the P+-weighted mean of V. The bonus is an
    upper bound on <p, V> - <P^, V> for every probability vector p in the chi-squared ball.

    Parameters
    ----------
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    eps : float
        Radius of the ball, finite.

    Returns
    -------
    float
        The bonus.
    """
    centre = mean(stage, row)
    _, _, squares, _ = weighted_moments(stage, row, centre, -math.inf, -math.inf)
    return math.sqrt(eps * squares / row.n)


@kernel
def chi2_radius(constants: NDArray[np.float64], n: int) -> float:
    """Return the radius eps of the chi-squared ball of a row with `n` observations.

    `constants` holds three numbers: scale * S; the logarithm l = ln(4 S^2 A T / delta); and a flag,
    1 for radius="provable" or 0 for radius="practical". The result is infinite if the ball contains
    all probability vectors.
    """
    factor, log, provable = constants  # factor = scale * S
    if not provable or factor == 0.0:
        return float(factor * log / n)
    if n == 1:
        return math.inf
    scaled_log = log * n / (n - 1)
    root = math.sqrt(2.0 * scaled_log) + 7.0 * scaled_log / 3.0
    return float(factor / n * (root * root))


@inlined
def chi2_terms(constants: NDArray[np.float64], n: int) -> tuple[float, float]:
    """Return the radius of a row with `n` observations, and 0.

    For `constants` see `chi2_radius`.
    """
    return chi2_radius(constants, n), 0.0


@inlined
def back_up_over_chi2_ball(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: tuple[float, float]
) -> tuple[float, float]:
    """Return Q_h(s, a) of a row with observations, and its level; see `chi2_ucrl_exact`.

    Parameters
    ----------
    constants : NDArray
        See `chi2_radius`.
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    terms : tuple[float, float]
        Result of `chi2_terms`.

    Returns
    -------
    tuple[float, float]
        Optimistic value of the row, and its level.
    """
    eps = terms[0]
    if eps == math.inf:
        return anywhere(stage, row), stage.top
    centre = mean(stage, row)
    best, level = max_over_chi2_ball(stage, row, centre, eps)
    return clipped(stage, row, centre, best - centre), level


@backup(terms=RowTerms(chi2_terms, back_up_over_chi2_ball, has_level=True))
def chi2_ucrl_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the maximum of <p, V> over the chi-squared ball.

    This is the form "exact", where p is a probability vector. `stage` holds V = V~_{h+1}.
    `constants` is described at `chi2_radius`.
    """
    if row.n == 0:
        return anywhere(stage, row)
    return back_up_over_chi2_ball(constants, stage, row, chi2_terms(constants, row.n))[0]


@backup
def chi2_ucrl_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` in the bonus form, with the bonus `chi2_bonus`.

    `stage` holds V = V~_{h+1}. `constants` is described at `chi2_radius`.
    """
    if row.n == 0:
        return unseen(stage, row)
    eps = chi2_radius(constants, row.n)
    if eps == math.inf:
        return unseen(stage, row)
    return clipped(stage, row, mean(stage, row), chi2_bonus(stage, row, eps))


@dataclass(frozen=True)
class Chi2_UCRL(Base):
    """Base algorithm chi2-UCRL: optimism over a chi-squared ball of transition probabilities.

    Parameters
    ----------
    form : {"exact", "bonus"}
        "exact" maximises <p, V~_{h+1}> over the ball; "bonus" adds an upper bound in closed form,
        the bonus, to <P^, V~_{h+1}>.
    radius : {"provable", "practical"}
        Radius of the ball; the module docstring gives both formulas. "practical" is much smaller
        than "provable" and of the same order in S and N', but no proof is known for it.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=Chi2_UCRL(scale=0.1), **setting).total_regret, 1)
    51.6
    """

    form: Literal["exact", "bonus"] = "exact"
    radius: Literal["provable", "practical"] = "provable"

    name = "chi2-ucrl"
    proofs = (
        Proof(
            "Maurer, Pontil 2009, union bound over rows, successors and N'",
            "each, pooled",
            "derived here; no publication has this radius",
            options={"radius": "provable"},
        ),
        Proof("", note="of the published order in S and N'", options={"radius": "practical"}),
    )

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        log = math.log(4 * S * S * A * (episodes * H) / self.delta)
        constants = np.array([self.scale * S, log, float(self.radius == "provable")])
        if self.form == "bonus":
            return BackupRule(chi2_ucrl_bonus, constants, reads="everything")
        return BackupRule(chi2_ucrl_exact, constants, reads="above")
