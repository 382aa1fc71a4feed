"""UCBVI-CH: a Hoeffding bonus on the value (Azar, Osband, Munos 2017, Algorithms 1 to 3).

    beta = 7 H L / sqrt(N'),   L = ln(5 S A T / delta)

C = 1, B_1 = 7 H L, B_2 = 0.

Deviations: counts for each stage (the logarithm stays the same, since HSA * K = SA * T); the value
of a row without observations is R + H' instead of H; Q may grow from one plan to the next unless
`monotone` is set; `range="H-h"` replaces H by H', the largest possible value of V_{h+1}.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice
from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, clipped, mean, rest, unseen
from belated.learner.bases.base import BackupRule, Base


@backup
def ucbvi_ch(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the values of `stage`.

    `constants` are 7 L times the scale, and 1 if the range is H.
    """
    if row.n == 0:
        return unseen(stage, row)
    factor, use_horizon = constants
    value_range = float(stage.horizon) if use_horizon else rest(stage)
    return clipped(stage, row, mean(stage, row), factor * value_range / math.sqrt(row.n))


@dataclass(frozen=True)
class UCBVI_CH(Base):
    """Upper confidence bound value iteration with Chernoff-Hoeffding bonuses.

    Parameters
    ----------
    range : {"H", "H-h"}
        Range of V in the bonus: the horizon as published, or the largest possible value.
    delta, scale, monotone, ties
        See `Base`.
    """

    range: Literal["H", "H-h"] = "H"

    name = "ucbvi-ch"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("range", self.range, ("H", "H-h"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        steps = episodes * shape.horizon
        log = math.log(5 * shape.states * shape.actions * steps / self.delta)
        constants = np.array([self.scale * 7 * log, float(self.range == "H")])
        return BackupRule(ucbvi_ch, constants, reads="successors")
