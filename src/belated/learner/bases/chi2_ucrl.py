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

from belated.check import check_choice
from belated.compiled import inlined, kernel
from belated.episode import Shape
from belated.learner.backup import Row, RowTerms, Stage, anywhere, backup, clipped, mean, unseen
from belated.learner.bases.base import BackupRule, Base, Proof
from belated.learner.bases.chi2_ball import chi2_bonus, max_over_chi2_ball


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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("form", self.form, ("exact", "bonus"))
        check_choice("radius", self.radius, ("provable", "practical"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        log = math.log(4 * S * S * A * (episodes * H) / self.delta)
        constants = np.array([self.scale * S, log, float(self.radius == "provable")])
        if self.form == "bonus":
            return BackupRule(chi2_ucrl_bonus, constants, reads="everything")
        return BackupRule(chi2_ucrl_exact, constants, reads="above")
