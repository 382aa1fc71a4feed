"""KL-UCRL: the best model in a Kullback-Leibler ball (Filippi, Cappe, Garivier 2010).

    { p : KL(P^, p) = sum_y P^(y) ln(P^(y) / p(y)) <= eps },   eps = c / N'

The empirical row comes first (Talebi, Maillard 2018, Eq. 3), so p may leave its support; the other
order would forbid every state not yet observed. The exact form maximises <p, V> over the ball.
The bonus form is beta = sqrt(2 eps Var_P^(V)) + eps (max V - min V), an upper bound of its gain:
take nu = max V + sqrt(Var / (2 eps)) in the dual

    <p, V> <= nu - exp(sum_y P^(y) ln(nu - V(y)) - eps)   for every nu >= max V.

    radius       c
    uniform      ln(S A H / delta) + (S - 1) ln(e (1 + N' / (S - 1)))      Jonsson et al. 2020
    filippi      S (B + ln(G) (1 + 1 / G)),   G = B + 1 / ln K,
                 B = ln(2 e S^2 A H ln(K) / delta)                         Filippi et al. 2010

"uniform" holds for all N' at once and needs no K. C = 0, B_1 = sqrt(2 c Var_P^(V)), B_2 = c H'.
Deviations: finite horizon, with counts per stage, hence A H for A and max(3, K) for T in
Filippi's constant; with one state eps = 0; an unseen row is worth R + max V, or R + H' in the
bonus form.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice
from belated.compiled import kernel
from belated.episode import Shape
from belated.learner.backup import Row, Stage, anywhere, backup, clipped, mean, unseen, variance
from belated.learner.bases.base import BackupRule, Base

GAP = 1e-12
"""The search ends when weak duality leaves at most this much, as a share of max V - <P^, V>
over the observed states."""

ROUNDS = 100
"""The most points the search tries; about four are enough, and a dozen in the worst cases met."""


@kernel
def budget(constants: NDArray[np.float64], n: int) -> float:
    """eps of a row seen `n` times."""
    scale, fixed, free = constants
    if free > 0.0:
        fixed += free * (1.0 + math.log1p(n / free))
    return float(scale * fixed / n)


@kernel
def tilted(
    stage: Stage, row: Row, top: float, lack: float, y: float
) -> tuple[float, float, float, float]:
    """What p ~ P^ / (nu - V) is like, with nu = top + y, and `lack` = top - <P^, V>.

    Returns f = KL(P^, p); its fall -df/dy; the gain <p - P^, V>; and nu - <p, V>. Everything is
    told by x = (nu - <P^, V>) / (nu - V) - 1, which is small where nu is far away, so that no
    digits are lost there.
    """
    first = 0.0
    second = 0.0
    logs = 0.0
    for j in range(row.lo, row.hi):
        below = top - stage.v[row.succ[j]]
        x = (lack - below) / (y + below)
        first += row.m[j] * x
        second += row.m[j] * (x * x)
        logs += row.m[j] * math.log1p(x)
    first /= row.n
    second /= row.n
    above = (y + lack) / (1.0 + first)
    f = math.log1p(first) - logs / row.n
    fall = (second - first * first) / ((y + lack) * (1.0 + first))
    return f, fall, above * first, above


@kernel
def product_root(lack: float, c: float) -> float:
    """The y > 0 with y (y + lack) = c."""
    return 2.0 * c / (lack + math.sqrt(lack * lack + 4.0 * c))


@kernel
def max_kl(stage: Stage, row: Row, eps: float) -> float:
    """The largest <p, V> over the simplex with KL(P^, p) <= eps.

    The maximiser is p ~ P^ / (nu - V) on the observed states, where nu solves f(nu) = eps. Where
    a state not observed is worth more than that nu, nu is its worth and it gets the rest.
    """
    centre = mean(stage, row)
    if eps < 1e-30:  # moves less than one part in 10^15
        return centre
    top = stage.v[row.succ[row.lo]]
    for j in range(row.lo + 1, row.hi):
        top = max(top, stage.v[row.succ[j]])
    lack = 0.0
    for j in range(row.lo, row.hi):
        lack += row.m[j] * (top - stage.v[row.succ[j]])
    lack /= row.n
    best = stage.top
    if lack < 1e-150:  # V is flat on the support, where f = 0
        return float(max(centre, min(best, centre - (best - top) * math.expm1(-eps))))

    # From here p puts all but 1e-14 on the top, unless a better state sets the lower end.
    y = best - top if best > top else 1e-14 * lack / row.n
    f, fall, gain, above = tilted(stage, row, top, lack, y)
    if f <= eps:
        if best > top:
            gain -= above * math.expm1(f - eps)
        return max(centre, min(best, centre + gain))

    # As f <= ln(1 + Var / (y (y + lack))), the root lies below the y that makes this eps.
    c = 0.0
    for j in range(row.lo, row.hi):
        gap = top - stage.v[row.succ[j]] - lack
        c += row.m[j] * (gap * gap)
    c /= row.n * math.expm1(min(eps, 700.0))
    lo = math.log(y)
    hi = math.log(max(y, product_root(lack, c)))
    # Newton on ln(e^f - 1), which is nearly linear in ln y: like f at one end, ln f at the other.
    goal = eps + math.log(-math.expm1(-eps))
    at = math.log(max(y, product_root(lack, 0.5 * c)))
    if fall > 0.0:
        share = -math.expm1(-f)
        at = min(at, lo + (f + math.log(share) - goal) * share / (y * fall))
    for _ in range(ROUNDS):
        if not lo < at < hi:
            at = 0.5 * (lo + hi)
        y = math.exp(at)
        f, fall, gain, above = tilted(stage, row, top, lack, y)
        if above * abs(math.expm1(f - eps)) <= GAP * lack:
            break
        if f > eps:
            lo = at
        else:
            hi = at
        if f > 0.0 and fall > 0.0:
            share = -math.expm1(-f)
            at += (f + math.log(share) - goal) * share / (y * fall)
        else:
            at = hi
    return max(centre, min(best, centre + gain))


@backup
def kl_ucrl_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return anywhere(stage, row)
    centre = mean(stage, row)
    gain = max_kl(stage, row, budget(constants, row.n)) - centre
    return clipped(stage, row, centre, gain)


@kernel
def bonus(stage: Stage, row: Row, eps: float) -> float:
    """sqrt(2 eps Var_P^(V)) + eps (max V - min V)."""
    var = variance(stage, row, mean(stage, row))
    return math.sqrt(2.0 * eps * var) + eps * (stage.top - stage.low)


@backup
def kl_ucrl_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return unseen(stage, row)
    beta = bonus(stage, row, budget(constants, row.n))
    return clipped(stage, row, mean(stage, row), beta)


def filippi(S: int, A: int, T: int, delta: float) -> float:
    """C_P of Filippi et al. 2010: N' KL(P^, P) stays below it for all S A rows and T steps."""
    B = math.log(2 * math.e * S * S * A * math.log(T) / delta)
    G = B + 1 / math.log(T)
    return S * (B + math.log(G) * (1 + 1 / G))


@dataclass(frozen=True)
class KL_UCRL(Base):
    """Optimism over a Kullback-Leibler ball of models.

    - `form`: "exact" maximises over the ball; "bonus" adds a closed-form upper bound instead.
    - `radius`: "uniform" over all counts, or "filippi", about three times as large.
    """

    form: Literal["exact", "bonus"] = "exact"
    radius: Literal["uniform", "filippi"] = "uniform"

    name = "kl-ucrl"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, ("exact", "bonus"))
        check_choice("radius", self.radius, ("uniform", "filippi"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        fixed, free = 0.0, 0.0
        if S > 1 and self.radius == "uniform":
            fixed, free = math.log(S * A * H / self.delta), S - 1.0
        elif S > 1:
            fixed = filippi(S, A * H, max(3, episodes), self.delta)
        constants = np.array([self.scale, fixed, free])
        if self.form == "exact":
            return BackupRule(kl_ucrl_exact, constants, reads="best")
        return BackupRule(kl_ucrl_bonus, constants, reads="extremes")
