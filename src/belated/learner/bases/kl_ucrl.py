"""KL-UCRL: optimism over a Kullback-Leibler ball (Filippi, Cappe, Garivier 2010).

    { p : KL(P^, p) = sum_y P^(y) ln(P^(y) / p(y)) <= eps },   eps = c / N'

P^ is the first argument of KL (Talebi, Maillard 2018, Eq. 3), so that p may have mass on unobserved
states; with KL(p, P^) it could not. V is V~_{h+1}. The exact form maximises <p, V> over the
probability vectors in the ball. The bonus form adds beta = sqrt(2 eps Var_P^(V)) +
eps (max V - min V) to <P^, V>. The sum is an upper bound on the maximum of the exact form: choose
nu = max V + sqrt(Var_P^(V) / (2 eps)) in the dual

    <p, V> <= nu - exp(sum_y P^(y) ln(nu - V(y)) - eps)   for every nu >= max V.

    radius       c
    uniform      ln(S A H / delta) + (S - 1) ln(e (1 + N' / (S - 1)))      Jonsson et al. 2020
    filippi      S (B + ln(G) (1 + 1 / G)),   G = B + 1 / ln K,
                 B = ln(2 e S^2 A H ln(K) / delta)                         Filippi et al. 2010

The radius "uniform" holds for all N' simultaneously and does not depend on K. The constants of the
bonus are C = 0, B_1 = sqrt(2 c Var_P^(V)) and B_2 = c H'.

Deviations from the publications:

- The horizon is finite, and there are counts for each stage. Therefore A H replaces A, and
  max(3, K) replaces T, in the constant of Filippi et al.
- eps = 0 if S = 1.
- The value of a row without observations is R + max V, or R + H' in the bonus form.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.elementary import exp, expm1, expm1_negative, log, log1p
from belated.episode import Shape
from belated.learner.backup import (
    Row,
    RowTerms,
    Stage,
    anywhere,
    backup,
    clipped,
    mean,
    unseen,
    variance,
)
from belated.learner.bases.base import BackupRule, Base, Proof

MAX_RELATIVE_GAP = 1e-12
"""Duality gap at which the search for the dual variable nu stops. The gap is relative to
max V - <P^, V>, where the maximum is over the observed states."""

MIN_RADIUS = 1e-30
"""Radius eps below which the relative gain of the maximum over the mean is below 1e-15."""

MIN_MEAN_GAP = 1e-150
"""Distance of max V from <P^, V>, over the observed states, below which V counts as constant."""

MAX_ITERATIONS = 100
"""Maximum number of iterations of the search for the dual variable nu. Four are typical; more than
twelve have not been observed."""


@kernel
def kl_radius(constants: NDArray[np.float64], n: int) -> float:
    """Return the radius eps = scale * c / n of the Kullback-Leibler ball of a row.

    `n` is the number of observations of the row. `constants` holds three numbers: the scale; the
    part of c that does not depend on `n`; and S - 1 for radius="uniform", or 0 for
    radius="filippi".
    """
    scale, c, dimension = constants
    if dimension > 0.0:  # radius "uniform", with S - 1 dimensions
        c += dimension * (1.0 + log1p(n / dimension))
    return float(scale * c / n)


@inlined
def tilted_distribution(
    stage: Stage, row: Row, top: float, mean_gap: float, offset: float
) -> tuple[float, float, float, float]:
    """Return four properties of the distribution p proportional to P^ / (nu - V).

    V is V~_{h+1} and nu = top + offset; p has mass on the observed states only. To avoid
    cancellation, the properties are computed from x = (nu - <P^, V>) / (nu - V) - 1, which is small
    if nu is large.

    Parameters
    ----------
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    top : float
        Largest V over the observed states.
    mean_gap : float
        top - <P^, V>.
    offset : float
        nu - top, above 0.

    Returns
    -------
    tuple[float, float, float, float]
        f = KL(P^, p); the negative derivative of f with respect to `offset`; <p - P^, V>; and
        nu - <p, V>.
    """
    first = 0.0
    second = 0.0
    logs = 0.0
    for j in range(row.lo, row.hi):
        gap = top - stage.v[row.succ[j]]
        x = (mean_gap - gap) / (offset + gap)
        first += row.m[j] * x
        second += row.m[j] * (x * x)
        logs += row.m[j] * log1p(x)
    first /= row.n
    second /= row.n
    nu_gap = (offset + mean_gap) / (1.0 + first)
    f = log1p(first) - logs / row.n
    descent = (second - first * first) / ((offset + mean_gap) * (1.0 + first))
    return f, descent, nu_gap * first, nu_gap


@kernel
def positive_root(b: float, c: float) -> float:
    """Return the positive solution x of x (x + `b`) = `c`, where `b` and `c` are positive."""
    return 2.0 * c / (b + math.sqrt(b * b + 4.0 * c))


@inlined
def gap_of_mean(stage: Stage, row: Row) -> tuple[float, float]:
    """Return the largest V over the observed states, and the mean distance of V from it.

    V is V~_{h+1} in `stage`; `row` has at least one observation.
    """
    top = stage.v[row.succ[row.lo]]
    for j in range(row.lo + 1, row.hi):
        top = max(top, stage.v[row.succ[j]])
    mean_gap = 0.0
    for j in range(row.lo, row.hi):
        mean_gap += row.m[j] * (top - stage.v[row.succ[j]])
    return top, mean_gap / row.n


@inlined
def max_over_kl_ball(stage: Stage, row: Row, centre: float, eps: float, shrinkage: float) -> float:
    """Return the largest <p, V> over the probability vectors p with KL(P^, p) <= eps.

    V is V~_{h+1}. The maximiser p is proportional to P^ / (nu - V) on the observed states, where nu
    solves KL(P^, p) = eps. If V at an unobserved state is larger than this nu, then nu is the
    largest such V instead, and the unobserved state gets the remaining mass.

    Parameters
    ----------
    stage : Stage
        Values V of the next step; `stage.top` is their maximum.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    centre : float
        Mean of the next value, <P^, V>.
    eps : float
        Radius of the ball, at least 0.
    shrinkage : float
        expm1(-eps).

    Returns
    -------
    float
        The maximum, which lies between <P^, V> and max V.
    """
    if eps < MIN_RADIUS:
        return centre

    # Largest observed value, and its distance from the mean.
    best = stage.top
    top, mean_gap = gap_of_mean(stage, row)
    if mean_gap < MIN_MEAN_GAP:  # V is constant on the observed states, and f = 0
        return float(max(centre, min(best, centre - (best - top) * shrinkage)))

    # Smallest offset of nu from the top: set by a better, unobserved state; otherwise one at which
    # p puts all but 1e-14 of its mass on the top. If it is feasible, it is optimal.
    offset = best - top if best > top else 1e-14 * mean_gap / row.n
    f, descent, gain, nu_gap = tilted_distribution(stage, row, top, mean_gap, offset)
    if f <= eps:
        if best > top:
            gain -= nu_gap * expm1_negative(f - eps)
        return max(centre, min(best, centre + gain))

    # Newton's step from the smallest offset, on ln(e^f - 1), which is nearly linear in ln offset:
    # it behaves like f at a small offset and like ln f at a large one. This long chain of dependent
    # operations comes first, so that the processor executes the bracket at the same time.
    target = eps + log(-shrinkage)
    lo = log(offset)
    newton = math.inf
    if descent > 0.0:
        factor = -expm1_negative(-f)
        newton = lo + (f + log(factor) - target) * factor / (offset * descent)

    # Bracket ln offset: f <= ln(1 + Var / (offset (offset + mean_gap))), so that the root of
    # f = eps is at most the offset at which the right side is eps.
    c = 0.0
    for j in range(row.lo, row.hi):
        gap = top - stage.v[row.succ[j]] - mean_gap
        c += row.m[j] * (gap * gap)
    c /= row.n * expm1(min(eps, 700.0))
    hi = log(max(offset, positive_root(mean_gap, c)))

    # Newton's method, safeguarded by bisection.
    log_offset = min(log(max(offset, positive_root(mean_gap, 0.5 * c))), newton)
    for _ in range(MAX_ITERATIONS):
        if not lo < log_offset < hi:
            log_offset = 0.5 * (lo + hi)
        offset = exp(log_offset)
        f, descent, gain, nu_gap = tilted_distribution(stage, row, top, mean_gap, offset)
        if nu_gap * abs(expm1(f - eps)) <= MAX_RELATIVE_GAP * mean_gap:
            break
        if f > eps:
            lo = log_offset
        else:
            hi = log_offset
        if f > 0.0 and descent > 0.0:
            factor = -expm1_negative(-f)
            log_offset += (f + log(factor) - target) * factor / (offset * descent)
        else:
            log_offset = hi
    return max(centre, min(best, centre + gain))


@inlined
def kl_terms(constants: NDArray[np.float64], n: int) -> tuple[float, float]:
    """Return the terms of a row with `n` observations: the radius eps of its ball, and expm1(-eps).

    `constants` is described at `kl_radius`.
    """
    eps = kl_radius(constants, n)
    return eps, expm1(-eps)


@inlined
def back_up_over_kl_ball(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: tuple[float, float]
) -> float:
    """Return Q_h(s, a) of a row with observations, with the maximum of <p, V> over the KL ball.

    Parameters
    ----------
    constants : NDArray
        See `kl_radius`.
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    terms : tuple[float, float]
        Result of `kl_terms`.

    Returns
    -------
    float
        Optimistic value of the row.
    """
    eps, shrinkage = terms
    centre = mean(stage, row)
    best = max_over_kl_ball(stage, row, centre, eps, shrinkage)
    return clipped(stage, row, centre, best - centre)


@backup(terms=RowTerms(kl_terms, back_up_over_kl_ball))
def kl_ucrl_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the maximum of <p, V> over the Kullback-Leibler ball.

    This is the form "exact", where p is a probability vector. `stage` holds V = V~_{h+1}.
    `constants` is described at `kl_radius`.
    """
    if row.n == 0:
        return anywhere(stage, row)
    return back_up_over_kl_ball(constants, stage, row, kl_terms(constants, row.n))


@kernel
def kl_bonus(stage: Stage, row: Row, eps: float) -> float:
    """Return the bonus beta = sqrt(2 eps Var_P^(V)) + eps (max V - min V).

    V is V~_{h+1}. The bonus is an upper bound on <p, V> - <P^, V> for every probability vector p
    with KL(P^, p) <= eps.

    Parameters
    ----------
    stage : Stage
        Values V of the next step; `stage.top` and `stage.low` are their maximum and minimum.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    eps : float
        Radius of the ball, at least 0.

    Returns
    -------
    float
        The bonus.
    """
    var = variance(stage, row, mean(stage, row))
    return math.sqrt(2.0 * eps * var) + eps * (stage.top - stage.low)


@backup
def kl_ucrl_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` in the bonus form, with the bonus `kl_bonus`.

    `stage` holds V = V~_{h+1}. `constants` is described at `kl_radius`.
    """
    if row.n == 0:
        return unseen(stage, row)
    beta = kl_bonus(stage, row, kl_radius(constants, row.n))
    return clipped(stage, row, mean(stage, row), beta)


def filippi_constant(S: int, A: int, T: int, delta: float) -> float:
    """Return the constant C_P of Filippi et al. 2010.

    Parameters
    ----------
    S, A : int
        Numbers of states and of actions.
    T : int
        Number of steps, at least 2.
    delta : float
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    float
        C_P. With probability 1 - delta, N' KL(P^, P) is at most C_P for all pairs of a state and an
        action, at each of the T steps.
    """
    B = math.log(2 * math.e * S * S * A * math.log(T) / delta)
    G = B + 1 / math.log(T)
    return S * (B + math.log(G) * (1 + 1 / G))


@dataclass(frozen=True)
class KL_UCRL(Base):
    """Base algorithm KL-UCRL: optimism over a Kullback-Leibler ball of transition probabilities.

    Parameters
    ----------
    form : {"exact", "bonus"}
        "exact" maximises <p, V~_{h+1}> over the ball; "bonus" adds an upper bound in closed form,
        the bonus, to <P^, V~_{h+1}>.
    radius : {"uniform", "filippi"}
        Radius of the ball; the module docstring gives both formulas. "uniform" holds for all counts
        N' simultaneously; "filippi" is about three times as large.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=KL_UCRL(scale=0.1), **setting).total_regret, 1)
    7.6
    """

    form: Literal["exact", "bonus"] = "exact"
    radius: Literal["uniform", "filippi"] = "uniform"

    name = "kl-ucrl"
    proofs = (
        Proof("Jonsson et al. 2020", "each, pooled", options={"radius": "uniform"}),
        Proof(
            "Filippi, Cappe, Garivier 2010",
            "each",
            "with A H for A and K for T; a pooled count can exceed K",
            options={"radius": "filippi"},
        ),
    )

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        c, dimension = 0.0, 0.0
        if S > 1 and self.radius == "uniform":
            c, dimension = math.log(S * A * H / self.delta), S - 1.0
        elif S > 1:
            c = filippi_constant(S, A * H, max(3, episodes), self.delta)
        constants = np.array([self.scale, c, dimension])
        if self.form == "exact":
            return BackupRule(kl_ucrl_exact, constants, reads="best")
        return BackupRule(kl_ucrl_bonus, constants, reads="extremes")
