"""History: what has become of the episodes of a problem, by time and by version of the policy.

An episode returns when the last piece of it arrives, and counts from the tick that finds it whole.
How late it was is told in seconds, and in episodes that were opened meanwhile, both as of the
arrival of that piece and not of the tick. One that was corrected returns with its correction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from belated.online.bins import Bins, How, View

SECOND: Final = 1_000_000
"""In microseconds, as which the ledger keeps time."""

TIMES: Final[dict[str, How]] = {
    "opened": "sum",
    "returned": "sum",
    "delay": "sum",
    "longest": "max",
    "episodes": "sum",
}
"""By time: what was opened then; what returned then, and how late."""

VERSIONS: Final[dict[str, How]] = {
    "opened": "sum",
    "returned": "sum",
    "earned": "sum",
    "squares": "sum",
}
"""By version: of the episodes opened with it, what returned, and what that earned."""


@dataclass(frozen=True, eq=False)
class Past:
    """A history as it was at some moment; `TIMES` and `VERSIONS` tell its columns."""

    times: View
    """By microseconds; delays in seconds."""
    versions: View
    newest: int
    """The newest version that anything was opened with; 0 if nothing was."""


class History:
    """Counts openings and returns."""

    def __init__(self) -> None:
        self.opened = 0
        """How many episodes have been opened."""
        self.newest = 0
        """The newest version that one was opened with."""
        self._times = Bins(SECOND, TIMES)
        self._versions = Bins(1, VERSIONS, origin=1)

    def open(self, at: int, version: int) -> int:
        """Count an episode; returns how many that makes."""
        self._times.count(at, "opened")
        self._versions.count(version, "opened")
        self.newest = max(self.newest, version)
        self.opened += 1
        return self.opened

    def take_back(
        self,
        *,
        at: Sequence[int],
        opened: Sequence[int],
        episodes: Sequence[int],
        version: Sequence[int],
        earned: Sequence[float],
    ) -> None:
        """Count episodes that are back, all at once; each argument has a number for each.

        `at` is when the last piece arrived, `episodes` how many were opened since it was `opened`.
        """
        arrived = np.array(at, np.int64)
        # a clock that was set back makes nothing come before it was opened
        seconds = np.maximum(arrived - np.array(opened, np.int64), 0) / SECOND
        returns, one = np.array(earned, np.float64), np.ones(len(at))
        self._times.add(
            arrived,
            {
                "returned": one,
                "delay": seconds,
                "longest": seconds,
                "episodes": np.array(episodes, np.float64),
            },
        )
        self._versions.add(
            np.array(version, np.int64),
            {"returned": one, "earned": returns, "squares": returns * returns},
        )

    def past(self) -> Past:
        """All of it; what comes later does not change it."""
        return Past(self._times.view(), self._versions.view(), self.newest)

    def snapshot(self) -> dict[str, Any]:
        """Plain arrays, numbers and texts."""
        return {
            "opened": self.opened,
            "newest": self.newest,
            "times": self._times.snapshot(),
            "versions": self._versions.snapshot(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "History":
        """As it was."""
        self = cls()
        self.opened, self.newest = state["opened"], state["newest"]
        self._times = Bins.restore(state["times"])
        self._versions = Bins.restore(state["versions"])
        return self
