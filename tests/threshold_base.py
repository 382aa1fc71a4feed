"""A base that is optimistic from a known scale on, and hopeless below it."""

from dataclasses import dataclass

import numpy as np

import belated as bl


@bl.backup
def all_or_nothing(constants, stage, row):
    return bl.cap(stage) if constants[0] > 0 else 0.0


@dataclass(frozen=True)
class Threshold(bl.Base):
    needs: float = 0.02

    name = "threshold"

    def backup_rule(self, shape, episodes):
        enough = float(self.scale >= self.needs)
        return bl.BackupRule(all_or_nothing, np.array([enough]), reads="successors")
