"""History of a problem: statistics of its episodes over time and over versions of the policy.

The statistics are histograms of at most 256 bins. An episode has returned when its feedback is
complete; it is counted at the next tick. Its delay lasts from its opening to the last feedback, not
to the tick. For a corrected episode, the correction is the only feedback.

There are two histograms over time. The first one uses the times at which openings and feedback
happened, `Event.happened_at`; the last feedback is the one with the latest time. The second one, of
arrivals, uses the times of recording; the last feedback is the one that arrived last. The delay in
episodes is the number of episodes whose openings arrived between the opening of the episode and the
arrival of its last feedback.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from belated.check import check_range
from belated.online.history.histogram import Aggregation, Histogram, HistogramView
from belated.online.history.time_histogram import MICROSECONDS_PER_SECOND, TimeHistogram
from belated.survival.duration_counts import DurationCounts

VERSION_COLUMNS: Final[dict[str, Aggregation]] = {
    "opened": "sum",
    "returned": "sum",
    "earned": "sum",
    "squares": "sum",
}
"""Map from the name of each column of the histogram over versions to its aggregation.

"opened" and "returned" are numbers of episodes. The return of an episode is the sum of its rewards.
"earned" is the sum of the returns of returned episodes, and "squares" is the sum of the squares of
these returns."""


@dataclass(frozen=True, eq=False)
class HistoryView:
    """Read-only copy of the history of a problem."""

    times: HistogramView
    """Histogram over the times at which openings and feedback happened, in microseconds since 1970
    (UTC), with the columns `TIME_COLUMNS`."""
    arrivals: HistogramView
    """Histogram over the times at which openings and feedback were recorded, in microseconds since
    1970 (UTC), with the columns `TIME_COLUMNS`."""
    versions: HistogramView
    """Histogram over the versions of the policy, with the columns `VERSION_COLUMNS`."""
    newest: int
    """Newest version of the policy that any opened episode follows; 0 if none was opened."""
    delays: DurationCounts
    """Delays of the returned episodes in microseconds, computed from the times at which openings
    and feedback happened."""


class Return(NamedTuple):
    """Episode whose feedback is complete, as an entry of the history."""

    opened_at: int
    """Time at which the episode was opened, in microseconds since 1970 (UTC)."""
    returned_at: int
    """Latest time at which feedback of the episode originated, in microseconds since 1970 (UTC)."""
    opening_recorded_at: int
    """Time at which the opening was recorded, in microseconds since 1970 (UTC)."""
    return_recorded_at: int
    """Time at which the last feedback was recorded, in microseconds since 1970 (UTC)."""
    episodes: int
    """Delay in episodes: number of other episodes that were opened after the opening of this
    episode and before the arrival of its last feedback."""
    version: int
    """Version of the policy that the episode followed."""
    reward_sum: float
    """Sum of the rewards of the episode, in the units of the problem."""


class History:
    """Statistics of a problem: numbers of opened and returned episodes, delays, sums of rewards."""

    def __init__(self) -> None:
        self.opened = 0
        """Number of episodes opened so far."""
        self.newest = 0
        """Newest version of the policy that any opened episode follows; 0 if none was opened."""
        self._times = TimeHistogram()
        self._arrivals = TimeHistogram()
        self._versions = Histogram(1, VERSION_COLUMNS, origin=1)
        self._delays = DurationCounts()

    def add_opening(self, opened_at: int, version: int, *, recorded_at: int) -> int:
        """Add an opened episode to the statistics.

        Parameters
        ----------
        opened_at : int
            Time at which the episode was opened, in microseconds since 1970 (UTC).
        version : int
            Version of the policy that the episode follows.
        recorded_at : int
            Time at which the opening was recorded, in microseconds since 1970 (UTC).

        Returns
        -------
        int
            Number of episodes opened so far, including this one.
        """
        self._times.count(opened_at, "opened")
        self._arrivals.count(recorded_at, "opened")
        self._versions.count(version, "opened")
        self.newest = max(self.newest, version)
        self.opened += 1
        return self.opened

    def add_returns(self, returns: Iterable[Return]) -> None:
        """Add `returns`, episodes whose feedback is complete, to the statistics."""
        rows = list(returns)
        if not rows:
            return
        columns = dict(zip(Return._fields, map(np.array, zip(*rows, strict=True)), strict=True))
        ones, earned = np.ones(len(rows)), columns["reward_sum"]
        for histogram, start, end in (
            (self._times, "opened_at", "returned_at"),
            (self._arrivals, "opening_recorded_at", "return_recorded_at"),
        ):
            # delays are not negative, even if a clock was wrong or was set back
            delays = np.maximum(columns[end] - columns[start], 0) / MICROSECONDS_PER_SECOND
            values = {"delay": delays, "longest": delays, "episodes": columns["episodes"]}
            histogram.add(columns[end], {"returned": ones, **values})
        self._delays.add(np.maximum(columns["returned_at"] - columns["opened_at"], 0))
        self._versions.add(
            columns["version"], {"returned": ones, "earned": earned, "squares": earned * earned}
        )

    def view(self) -> HistoryView:
        """Return a read-only copy of the history."""
        return HistoryView(
            self._times.view(),
            self._arrivals.view(),
            self._versions.view(),
            self.newest,
            self._delays.copy(),
        )

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the history: nested dicts of arrays, numbers and texts."""
        return {
            "opened": self.opened,
            "newest": self.newest,
            "times": self._times.snapshot(),
            "arrivals": self._arrivals.snapshot(),
            "versions": self._versions.snapshot(),
            "delays": self._delays.snapshot(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "History":
        """Restore a history from `state`, a snapshot as returned by `snapshot`."""
        self = cls()
        self.opened, self.newest = state["opened"], state["newest"]
        self._times = TimeHistogram.restore(state["times"])
        self._arrivals = TimeHistogram.restore(state["arrivals"])
        self._versions = Histogram.restore(state["versions"])
        self._delays = DurationCounts.restore(state["delays"])
        check_range("number of delays", len(self._delays), 0, self.opened)
        return self
