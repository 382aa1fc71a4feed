"""UCRL2: optimism over an L1 ball around the empirical model (Jaksch, Ortner, Auer 2010).

    { p : |p - P^|_1 <= eps },   eps = sqrt(c / N')

V is V~_{h+1}. The exact form maximises <p, V> over the probability vectors in the ball. The bonus
form drops the constraint p >= 0, so that the maximum is <P^, V> + beta with
beta = (eps / 2) (max V - min V) (Neu, Pike-Burke 2020). The values of the bonus form are never
below those of the exact form.

    radius       c
    weissman     2 (S ln 2 + ln(S A T / delta))    Weissman et al. 2003, union over rows and N'
    common       2 S ln(2 S A T / delta)           upper bound on "weissman"
    jaksch       14 S ln(2 A T / delta)            Jaksch et al.
    paper        6 S ln(5 A T pi / (6 delta))      Howson et al., late rewards; delta' is delta / 5

The last three are never below "weissman". With unknown rewards, delta is half of the delta of the
base, except in the radius "paper", whose delta' is a fifth of the whole delta in both cases.

The constants of the bonus are C = 0, B_1 = (H' / 2) sqrt(c) and B_2 = 0.

Deviations from the publications:

- The horizon is finite, and there are counts for each stage.
- T, the number of steps of the whole run, replaces the current time t, so that the radius depends
  on N' only.
- The value of a row without observations is R + max V, or R + H' in the bonus form.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.compiled import kernel
from belated.episode import Shape
from belated.learner.backup import Row, Stage, anywhere, backup, cap, clipped, mean, unseen
from belated.learner.bases.base import BackupRule, Base, Proof


@kernel
def max_over_l1_ball(stage: Stage, row: Row, eps: float) -> float:
    """Return the largest <p, V> over the probability vectors p with |p - P^|_1 <= eps.

    V is V~_{h+1}. The maximiser moves mass eps / 2 from the successors with the lowest values to a
    state with the largest value. Mass of successors with equal values is moved together, and mass
    of successors with the largest value is not moved. Therefore the result does not depend on the
    order of states with equal values.

    Parameters
    ----------
    stage : Stage
        Values V of the next step; `stage.top` is their maximum.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    eps : float
        Radius of the ball, at least 0.

    Returns
    -------
    float
        The maximum, which lies between <P^, V> and max V.
    """
    top = stage.top
    remaining = 0.5 * eps * row.n  # mass still to be moved, in observations
    gain = 0.0
    emptied = -math.inf  # successors with at most this value have no mass left
    while remaining > 0.0:
        # Find the lowest value with mass, and the number of its observations.
        low = top
        count = 0
        for j in range(row.lo, row.hi):
            v = stage.v[row.succ[j]]
            if emptied < v < low:
                low = v
                count = row.m[j]
            elif v == low:
                count += row.m[j]
        if low == top:
            return top
        # Move as much of its mass as possible to the best value.
        moved = min(remaining, float(count))
        gain += moved * (top - low)
        remaining -= moved
        emptied = low
    return min(top, mean(stage, row) + gain / row.n)


@backup
def ucrl2_exact(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the maximum of <p, V> over the L1 ball.

    This is the form "exact", where p is a probability vector. `stage` holds V = V~_{h+1}.
    `constants` holds the scale, and c of the radius eps = scale * sqrt(c / N').
    """
    if row.n == 0:
        return anywhere(stage, row)
    scale, c = constants
    # Eq. 4 with beta = max <p, V> - <P^, V>, which is at most H' since V <= H'.
    best = max_over_l1_ball(stage, row, scale * math.sqrt(c / row.n))
    return min(cap(stage), row.reward + best)


@backup
def ucrl2_bonus(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` in the bonus form, with the bonus (eps / 2) (max V - min V).

    V is V~_{h+1}, the next-step values in `stage`. `constants` holds the scale, and c of the radius
    eps = scale * sqrt(c / N').
    """
    if row.n == 0:
        return unseen(stage, row)
    scale, c = constants
    span = stage.top - stage.low
    beta = 0.5 * scale * math.sqrt(c / row.n) * span
    return clipped(stage, row, mean(stage, row), beta)


@dataclass(frozen=True)
class UCRL2(Base):
    """Base algorithm UCRL2: optimism over an L1 ball of transition probabilities.

    Parameters
    ----------
    form : {"exact", "bonus"}
        "exact" maximises <p, V~_{h+1}> over the ball; "bonus" adds an upper bound in closed form,
        the bonus, to <P^, V~_{h+1}>.
    radius : {"weissman", "common", "jaksch", "paper"}
        Publication from which the radius of the ball is taken; the module docstring gives the
        formulas. "weissman" is the smallest.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=UCRL2(scale=0.1), **setting).total_regret, 1)
    7.6
    """

    form: Literal["exact", "bonus"] = "exact"
    radius: Literal["weissman", "common", "jaksch", "paper"] = "weissman"

    name = "ucrl2"
    proofs = (
        Proof(
            "Weissman et al. 2003, union bound over rows and N'",
            "each, pooled",
            options={"radius": "weissman"},
        ),
        *(
            Proof(by, "each, pooled", "wider than `weissman`", options={"radius": radius})
            for radius, by in (
                ("jaksch", "Jaksch, Ortner, Auer 2010"),
                ("paper", "Howson, Pike-Burke, Filippi 2023"),
                ("common", "Weissman et al. 2003, union bound over rows and N'"),
            )
        ),
    )

    def with_half_delta(self) -> "UCRL2":
        # the radius "paper" has a fifth of the whole delta for transitions, and one for rewards
        return self if self.radius == "paper" else super().with_half_delta()

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
