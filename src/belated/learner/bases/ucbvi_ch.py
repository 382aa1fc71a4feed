"""UCBVI-CH: a Hoeffding bonus on the value (Azar, Osband, Munos 2017, Algorithms 1 to 3).

    beta = 7 H L / sqrt(N'),   L = ln(5 S A T / delta)

The constants of the bonus are C = 1, B_1 = 7 H L and B_2 = 0.

Deviations from the publication:

- There are counts for each stage. The logarithm stays the same, because HSA * K = SA * T.
- The value of a row without observations is R + H' instead of H.
- Q may grow from one plan to the next unless the option `monotone` is set.
- The option `range="H-h"` replaces H in the bonus by H', the largest possible value of V_{h+1}.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, clipped, mean, rest, unseen
from belated.learner.bases.base import BackupRule, Base, Proof


@backup
def ucbvi_ch(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row`, computed from the next-step values in `stage`.

    `constants` holds 7 L times the scale, where L = ln(5 S A T / delta), and 1 for the option
    `range="H"` or 0 for `range="H-h"`.
    """
    if row.n == 0:
        return unseen(stage, row)
    factor, use_horizon = constants
    value_range = float(stage.horizon) if use_horizon else rest(stage)
    return clipped(stage, row, mean(stage, row), factor * value_range / math.sqrt(row.n))


@dataclass(frozen=True)
class UCBVI_CH(Base):
    """Base algorithm UCBVI-CH: value iteration with Chernoff-Hoeffding bonuses.

    Parameters
    ----------
    range : {"H", "H-h"}
        Range of V~_{h+1} in the bonus. "H" is the horizon, as published; "H-h" is H' = H - h, the
        largest possible V~_{h+1}.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=UCBVI_CH(scale=0.01), **setting).total_regret, 1)
    32.9
    """

    range: Literal["H", "H-h"] = "H"

    name = "ucbvi-ch"
    proofs = (
        Proof(
            "Azar, Osband, Munos 2017",
            "each, pooled",
            "published for pooled counts; the same union bound covers counts for each step",
            options={"range": "H"},
        ),
        Proof(
            "Hoeffding's inequality, union bound over rows and N'",
            "each, pooled",
            "V* at the next step is at most H - h",
            options={"range": "H-h"},
        ),
    )

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        steps = episodes * shape.horizon
        log = math.log(5 * shape.states * shape.actions * steps / self.delta)
        constants = np.array([self.scale * 7 * log, float(self.range == "H")])
        return BackupRule(ucbvi_ch, constants, reads="successors")
