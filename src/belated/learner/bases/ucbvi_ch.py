"""UCBVI-CH: a Hoeffding bonus on the value (Azar, Osband, Munos 2017, Algorithms 1 to 3).

    beta = 7 H L / sqrt(N'),   L = ln(5 S A T / delta)

C = 1, B_1 = 7 H L, B_2 = 0. Deviations: counts per stage (the log needs no change, since
HSA * K = SA * T); an unseen row is worth R + H' instead of H; no minimum with the last Q unless
`monotone`; `range="H-h"` puts the true range H' of V_{h+1} in place of H.
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
    if row.n == 0:
        return unseen(stage, row)
    width, literal = constants
    reach = float(stage.horizon) if literal else rest(stage)
    return clipped(stage, row, mean(stage, row), width * reach / math.sqrt(row.n))


@dataclass(frozen=True)
class UCBVI_CH(Base):
    """Upper confidence bound value iteration with Chernoff-Hoeffding bonuses."""

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
