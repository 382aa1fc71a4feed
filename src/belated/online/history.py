"""History of a problem: statistics of its episodes by time and by version of the policy.

The statistics are histograms of at most 256 bins. An episode has returned when its feedback is
complete; it is counted at the next tick. Its delay lasts from its opening to the last feedback, not
to the tick. For a corrected episode, the correction is the only feedback.

There are two histograms by time. The first one uses the times at which openings and feedback
happened, `Event.happened_at`; the last feedback is then the one with the latest time. The second
one, of arrivals, uses the times of recording; the last feedback is then the one that arrived last.
The delay in episodes is the number of episodes that were opened between these two arrivals.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from belated.episode import Floats, Ints

MAX_BINS: Final = 256

MICROSECONDS_PER_SECOND: Final = 1_000_000

Aggregation = Literal["sum", "max"]
AGGREGATIONS: Final = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}
"""Pair of each aggregation: function that combines two numbers, and value of an empty bin."""

TIME_COLUMNS: Final[dict[str, Aggregation]] = {
    "opened": "sum",
    "returned": "sum",
    "delay": "sum",
    "longest": "max",
    "episodes": "sum",
}
"""Columns of the histograms by time, with their aggregation.

"opened" and "returned" are numbers of episodes. The other columns describe the delays of returned
episodes: "delay" is their sum in seconds, "longest" their maximum in seconds, and "episodes" their
sum in numbers of episodes."""

VERSION_COLUMNS: Final[dict[str, Aggregation]] = {
    "opened": "sum",
    "returned": "sum",
    "earned": "sum",
    "squares": "sum",
}
"""Columns of the histogram by version, with their aggregation.

"opened" and "returned" are numbers of episodes. The return of an episode is the sum of
its rewards. "earned" is the sum of the returns of returned episodes, and "squares" the sum of the
squares of these returns."""


@dataclass(frozen=True, eq=False)
class HistogramView:
    """Read-only copy of a histogram."""

    width: int
    """Width of a bin, in units of the key."""
    start: int
    """Smallest key of the first bin."""
    columns: Mapping[str, Floats] = field(repr=False)
    """Values of the bins in use, in order of keys: one array for each column, by column name."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def starts(self) -> list[int]:
        """Smallest key of each bin."""
        return [self.start + place * self.width for place in range(len(self))]


class Histogram:
    """Histogram over integer keys, with several columns and at most 256 bins of equal width.

    If more bins would be needed, the width doubles and neighbouring bins are merged. Bins start at
    multiples of the width from a fixed origin, so that the bins do not depend on when the width was
    doubled.

    Parameters
    ----------
    width : int
        Initial width of a bin.
    columns : mapping
        Aggregation of each column, "sum" or "max", by name of the column.
    origin : int, optional
        Key at which some bin starts. None for the first key that is added, rounded down to a
        multiple of the width.

    >>> histogram = Histogram(1, {"seen": "sum"}, origin=0)
    >>> for key in (0, 1, 299):
    ...     histogram.count(key, "seen")
    >>> view = histogram.view()
    >>> view.width, len(view), view.columns["seen"][[0, 149]].tolist()
    (2, 150, [2.0, 1.0])
    """

    def __init__(
        self, width: int, columns: Mapping[str, Aggregation], *, origin: int | None = None
    ) -> None:
        self._width = width
        self._aggregations = dict(columns)
        self._origin = origin
        self._start = origin or 0  # of the first bin
        self._size = 0  # number of bins in use
        self._columns = {name: _empty_column(how) for name, how in columns.items()}

    def count(self, key: int, column: str) -> None:
        """Add 1 to the sum in `column` for the bin of `key`; faster than `add` for a single key."""
        place = (key - self._start) // self._width
        if not 0 <= place < self._size:
            self._extend(key, key)
            place = (key - self._start) // self._width
        self._columns[column][place] += 1

    def add(self, keys: Ints, values: Mapping[str, Floats]) -> None:
        """Add numbers to several columns.

        `values` holds, by name of the column, one number for each of `keys`. Each number is
        combined with the value of the bin of its key, by the aggregation of the column.
        """
        if not keys.size:
            return
        self._extend(int(keys.min()), int(keys.max()))
        places = (keys - self._start) // self._width
        for name, numbers in values.items():
            AGGREGATIONS[self._aggregations[name]][0].at(self._columns[name], places, numbers)

    def view(self) -> HistogramView:
        """Return a read-only copy of the histogram."""
        columns = {name: column[: self._size].copy() for name, column in self._columns.items()}
        for column in columns.values():
            column.setflags(write=False)
        return HistogramView(self._width, self._start, columns)

    def _extend(self, low: int, high: int) -> None:
        """Extend the range of bins in use so that it includes the keys from `low` to `high`."""
        if self._origin is None:
            self._origin = low // self._width * self._width
        while True:
            start, end = self._bin_start(low), self._bin_start(high)
            if self._size:
                start = min(start, self._start)
                end = max(end, self._start + (self._size - 1) * self._width)
            if (end - start) // self._width < MAX_BINS:
                break
            self._double_width()
        if start < self._start:
            self._move(np.arange(self._size) + (self._start - start) // self._width)
        self._start, self._size = start, (end - start) // self._width + 1

    def _bin_start(self, key: int) -> int:
        assert self._origin is not None
        return self._origin + (key - self._origin) // self._width * self._width

    def _double_width(self) -> None:
        starts = self._start + np.arange(self._size) * self._width
        self._width *= 2
        self._start = self._bin_start(self._start)
        places = (starts - self._start) // self._width
        self._move(places)
        self._size = int(places[-1]) + 1 if self._size else 0

    def _move(self, places: Ints) -> None:
        """Move each bin in use to its index in `places`; merge bins that get the same index."""
        for name, how in self._aggregations.items():
            column = _empty_column(how)
            AGGREGATIONS[how][0].at(column, places, self._columns[name][: places.size])
            self._columns[name] = column

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the histogram: a dict of arrays, numbers and texts.

        The size of the snapshot does not depend on the number of keys that were added.
        """
        return {
            "width": self._width,
            "origin": self._origin,
            "start": self._start,
            "size": self._size,
            "aggregations": dict(self._aggregations),
            "columns": {name: column.copy() for name, column in self._columns.items()},
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Histogram":
        """Restore a histogram from `state`, a snapshot as returned by `snapshot`."""
        self = cls(state["width"], state["aggregations"], origin=state["origin"])
        self._start, self._size = state["start"], state["size"]
        self._columns = {name: column.copy() for name, column in state["columns"].items()}
        return self


def _empty_column(how: Aggregation) -> Floats:
    return np.full(MAX_BINS, AGGREGATIONS[how][1])


@dataclass(frozen=True, eq=False)
class HistoryView:
    """Read-only copy of the history of a problem."""

    times: HistogramView
    """Histogram by the time at which openings and feedback happened, in microseconds since 1970
    (UTC), with the columns `TIME_COLUMNS`."""
    arrivals: HistogramView
    """Histogram by the time of recording, with the same unit and columns."""
    versions: HistogramView
    """Histogram by version of the policy, with the columns `VERSION_COLUMNS`."""
    newest: int
    """Newest version that an opened episode follows; 0 if no episode was opened."""


class Return(NamedTuple):
    """Episode whose feedback is complete. Times are in microseconds since 1970 (UTC)."""

    opened_at: int
    """Time at which the episode was opened."""
    returned_at: int
    """Latest time at which its feedback originated."""
    opening_recorded_at: int
    """Time at which the opening was recorded."""
    return_recorded_at: int
    """Time at which the last feedback was recorded."""
    episodes: int
    """Number of other episodes opened between the opening and the arrival of the last feedback."""
    version: int
    """Version of the policy that the episode followed."""
    reward_sum: float
    """Sum of the rewards, in the units of the problem."""


class History:
    """Statistics of a problem: numbers of opened and returned episodes, delays, sums of rewards."""

    def __init__(self) -> None:
        self.opened = 0
        """Number of episodes opened."""
        self.newest = 0
        """Newest version that an opened episode follows; 0 if no episode was opened."""
        self._times = Histogram(MICROSECONDS_PER_SECOND, TIME_COLUMNS)
        self._arrivals = Histogram(MICROSECONDS_PER_SECOND, TIME_COLUMNS)
        self._versions = Histogram(1, VERSION_COLUMNS, origin=1)

    def add_opening(self, opened_at: int, version: int, *, recorded_at: int) -> int:
        """Count an opened episode.

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
        """Count `returns`, episodes whose feedback is complete."""
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
        self._versions.add(
            columns["version"], {"returned": ones, "earned": earned, "squares": earned * earned}
        )

    def view(self) -> HistoryView:
        """Return a read-only copy of the history."""
        return HistoryView(
            self._times.view(), self._arrivals.view(), self._versions.view(), self.newest
        )

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the history: nested dicts of arrays, numbers and texts."""
        return {
            "opened": self.opened,
            "newest": self.newest,
            "times": self._times.snapshot(),
            "arrivals": self._arrivals.snapshot(),
            "versions": self._versions.snapshot(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "History":
        """Restore a history from `state`, a snapshot as returned by `snapshot`."""
        self = cls()
        self.opened, self.newest = state["opened"], state["newest"]
        self._times = Histogram.restore(state["times"])
        self._arrivals = Histogram.restore(state["arrivals"])
        self._versions = Histogram.restore(state["versions"])
        return self
