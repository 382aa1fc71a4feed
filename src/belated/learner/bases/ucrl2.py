"""UCRL2: the best model in an L1 ball around the empirical one (Jaksch, Ortner, Auer 2010).

    { p : |p - P^|_1 <= eps },   eps = sqrt(c / N')

The exact form maximises <p, V> over the ball within the simplex. The bonus form drops p >= 0,
which leaves beta = (eps / 2) (max V - min V) (Neu, Pike-Burke 2020), and is never below it.

    radius       c
    weissman     2 (S ln 2 + ln(S A T / delta))    Weissman et al. 2003, union over rows and N'
    common       2 S ln(2 S A T / delta)           an upper bound of the line above
    jaksch       14 S ln(2 A T / delta)            Jaksch et al.
    paper        6 S ln(5 A T pi / (6 delta))      Howson et al., late rewards; their delta / 5

C = 0, B_1 = (H' / 2) sqrt(c), B_2 = 0. Deviations: finite horizon, with counts per stage; T, the
steps of the whole run, in place of the time t so far, which makes the radius a function of N'
alone; an unseen row is worth R + max V, or R + H' in the bonus form.
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
def maximum(stage: Stage, row: Row, eps: float) -> float:
    """The largest <p, V> over the simplex within L1 distance `eps` of P^.

    Mass eps / 2 goes to the best value from the lowest ones. Successors of equal value move
    together and those of the best value stay, so the result depends on values alone and not on
    which of several equal states is called the best.
    """
    top = stage.top
    left = 0.5 * eps * row.n  # mass still to move, in observations
    gain = 0.0
    done = -math.inf
    while left > 0.0:
        low = top
        count = 0
        for j in range(row.lo, row.hi):
            v = stage.v[row.succ[j]]
            if done < v < low:
                low = v
                count = row.m[j]
            elif v == low:
                count += row.m[j]
        if low == top:
            return top
        moved = min(left, float(count))
        gain += moved * (top - low)
        left -= moved
        done = low
    return min(top, mean(stage, row) + gain / row.n)


@backup
def ucrl2_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return anywhere(stage, row)
    scale, c = constants
    # Eq. 4 with beta = max <p, V> - <P^, V>, which V <= H' keeps below H' already.
    return min(cap(stage), row.reward + maximum(stage, row, scale * math.sqrt(c / row.n)))


@backup
def ucrl2_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return unseen(stage, row)
    scale, c = constants
    span = stage.top - stage.low
    beta = 0.5 * scale * math.sqrt(c / row.n) * span
    return clipped(stage, row, mean(stage, row), beta)


@dataclass(frozen=True)
class UCRL2(Base):
    """Optimism over an L1 ball of models.

    - `form`: "exact" maximises over the ball; "bonus" adds a closed-form upper bound instead.
    - `radius`: which published constant the ball has; "weissman" is the smallest.
    """

    form: Literal["exact", "bonus"] = "exact"
    radius: Literal["weissman", "common", "jaksch", "paper"] = "weissman"

    name = "ucrl2"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, ("exact", "bonus"))
        check_choice("radius", self.radius, ("weissman", "common", "jaksch", "paper"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        S, A, T = shape.states, shape.actions, episodes * shape.horizon
        if self.radius == "weissman":
            c = 2 * (S * math.log(2) + math.log(S * A * T / self.delta))
        elif self.radius == "common":
            c = 2 * S * math.log(2 * S * A * T / self.delta)
        elif self.radius == "jaksch":
            c = 14 * S * math.log(2 * A * T / self.delta)
        else:
            c = 6 * S * math.log(A * T * math.pi / (6 * self.delta / 5))
        function = ucrl2_exact if self.form == "exact" else ucrl2_bonus
        constants = np.array([self.scale, c])
        return BackupRule(function, constants, "best" if self.form == "exact" else "extremes")
