"""UBEV: upper bounding the expected next-state value (Dann, Lattimore, Brunskill 2017).

    phi = sqrt((2 lnln(max(e, N')) + ln(18 S A H / delta)) / N')
    Q = R + min(max V, <P^, V> + (H - h) phi)

Stage-dependent and anytime: no K in it. C = 1, B_1 = (H - h) sqrt(2 lnln N' + ln(18SAH/delta)),
B_2 = 0. Deviations: rewards are known, so their own phi is left out; `range="span"` puts
max V - min V, as the authors' code does, in place of H - h. The authors' code has 21 or 27 where
the paper, and this file, has 18.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice
from belated.episode import Shape
from belated.learner.backup import Row, Stage, anywhere, backup, cap, mean, rest
from belated.learner.bases.base import BackupRule, Base


@backup
def ubev(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    if row.n == 0:
        return anywhere(stage, row)
    log, scale, span = constants
    reach = stage.top - stage.low if span else rest(stage)
    loglog = math.log(math.log(max(math.e, row.n)))
    phi = math.sqrt((2 * loglog + log) / row.n)
    return min(cap(stage), row.reward + min(stage.top, mean(stage, row) + scale * reach * phi))


@dataclass(frozen=True)
class UBEV(Base):
    """Upper bounding the expected next-state value."""

    range: Literal["H-h", "span"] = "H-h"

    name = "ubev"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("range", self.range, ("H-h", "span"))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        log = math.log(18 * shape.states * shape.actions * shape.horizon / self.delta)
        constants = np.array([log, self.scale, float(self.range == "span")])
        return BackupRule(ubev, constants, reads="extremes" if self.range == "span" else "best")
