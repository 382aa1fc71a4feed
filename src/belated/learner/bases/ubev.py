"""UBEV: upper bounds of the expected next-state value (Dann, Lattimore, Brunskill 2017).

    phi = sqrt((2 lnln(max(e, N')) + ln(18 S A H / delta)) / N')
    Q = R + min(max V, <P^, V> + (H - h) phi)

V is V~_{h+1}. The bonus (H - h) phi does not depend on K. Its constants are C = 1,
B_1 = (H - h) sqrt(2 lnln N' + ln(18SAH/delta)) and B_2 = 0.

Deviations from the publication: the formula has no bonus for rewards. The option `range="span"`
replaces H - h by max V - min V, as in the authors' code. The authors' code has the factor 21 or 27
in the logarithm; the factor used here, 18, is that of the publication.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined
from belated.elementary import log
from belated.episode import Shape
from belated.learner.backup import Row, RowTerms, Stage, anywhere, backup, cap, mean, rest
from belated.learner.bases.base import BackupRule, Base, Proof


@inlined
def ubev_terms(constants: NDArray[np.float64], n: int) -> tuple[float, float]:
    """Return the terms of a row with `n` observations: phi, and 0.

    The second term is not used. `constants` is described at `ubev`.
    """
    loglog = log(log(max(math.e, n)))
    return math.sqrt((2 * loglog + constants[0]) / n), 0.0


@inlined
def back_up_with_phi(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: tuple[float, float]
) -> float:
    """Return Q_h(s, a) of a row with observations; see `ubev`.

    Parameters
    ----------
    constants : NDArray
        See `ubev`.
    stage : Stage
        Values V of the next step.
    row : Row
        Counts of (h, s, a), with N' at least 1.
    terms : tuple[float, float]
        Result of `ubev_terms`.

    Returns
    -------
    float
        Optimistic value of the row.
    """
    _, scale, use_span = constants
    value_range = stage.top - stage.low if use_span else rest(stage)
    upper = mean(stage, row) + scale * value_range * terms[0]
    return min(cap(stage), row.reward + min(stage.top, upper))


@backup(terms=RowTerms(ubev_terms, back_up_with_phi))
def ubev(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row`, computed from the next-step values in `stage`.

    `constants` holds ln(18SAH/delta), the scale, and 1 for the option `range="span"` or 0 for
    `range="H-h"`.
    """
    if row.n == 0:
        return anywhere(stage, row)
    return back_up_with_phi(constants, stage, row, ubev_terms(constants, row.n))


@dataclass(frozen=True)
class UBEV(Base):
    """Base algorithm UBEV: upper bounds on the expected value of the next state.

    Parameters
    ----------
    range : {"H-h", "span"}
        Range of V = V~_{h+1} in the bonus. "H-h" is the largest possible V; "span" is
        max V - min V.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=UBEV(scale=0.1), **setting).total_regret, 1)
    7.6
    """

    range: Literal["H-h", "span"] = "H-h"

    name = "ubev"
    proofs = (
        Proof(
            "Dann, Lattimore, Brunskill 2017",
            "each",
            "without their bonus for rewards, which are known",
            options={"range": "H-h"},
        ),
        Proof("", note="range of the authors' code", options={"range": "span"}),
    )

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        log_term = math.log(18 * shape.states * shape.actions * shape.horizon / self.delta)
        constants = np.array([log_term, self.scale, float(self.range == "span")])
        return BackupRule(ubev, constants, reads="extremes" if self.range == "span" else "best")
