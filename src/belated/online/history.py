"""History of a problem's episodes, by time and by version of the policy, in at most 256 bins each.

An episode returns when its last piece of feedback arrives, and is counted at the next tick. Its
delay is measured in seconds, and in episodes opened meanwhile, both up to the arrival of that piece
and not to the tick. A corrected episode returns with its correction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from belated.episode import Floats, Ints

MAX_BINS: Final = 256

MICROSECONDS_PER_SECOND: Final = 1_000_000

Aggregation = Literal["sum", "max"]
AGGREGATIONS: Final = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}
"""Function that combines two numbers, and the value of an empty bin."""

TIME_COLUMNS: Final[dict[str, Aggregation]] = {
    "opened": "sum",
    "returned": "sum",
    "delay": "sum",
    "longest": "max",
    "episodes": "sum",
}
"""Columns by time: episodes opened; episodes returned, and their delays (sum and maximum in
seconds, sum in episodes)."""

VERSION_COLUMNS: Final[dict[str, Aggregation]] = {
    "opened": "sum",
    "returned": "sum",
    "earned": "sum",
    "squares": "sum",
}
"""Columns by version: episodes opened and returned, sum of returns and of squared returns."""


@dataclass(frozen=True, eq=False)
class HistogramView:
    """Read-only copy of a histogram."""

    width: int
    """Width of a bin."""
    start: int
    """Start of the first bin."""
    columns: Mapping[str, Floats] = field(repr=False)
    """Numbers by column, one for each bin from the first to the last that is in use."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def starts(self) -> list[int]:
        """Start of each bin."""
        return [self.start + place * self.width for place in range(len(self))]


class Histogram:
    """Aggregates of numbers by key, in columns of at most 256 bins of equal width.

    If more bins would be needed, the width doubles and neighbouring bins are merged. Bins start at
    multiples of the width from a fixed origin, so that the result does not depend on the time of
    doubling.

    Parameters
    ----------
    width : int
        Initial width of a bin.
    columns : mapping
        Aggregation by name of column: "sum" or "max".
    origin : int, optional
        A start of a bin; None for the first key, rounded down to a multiple of the width.

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
        """Add one to the sum `column` at `key`; faster than `add` for a single key."""
        place = (key - self._start) // self._width
        if not 0 <= place < self._size:
            self._extend(key, key)
            place = (key - self._start) // self._width
        self._columns[column][place] += 1

    def add(self, keys: Ints, values: Mapping[str, Floats]) -> None:
        """Add a number for each of `keys` to each column in `values`."""
        if not keys.size:
            return
        self._extend(int(keys.min()), int(keys.max()))
        places = (keys - self._start) // self._width
        for name, numbers in values.items():
            AGGREGATIONS[self._aggregations[name]][0].at(self._columns[name], places, numbers)

    def view(self) -> HistogramView:
        """Return a read-only copy."""
        columns = {name: column[: self._size].copy() for name, column in self._columns.items()}
        for column in columns.values():
            column.setflags(write=False)
        return HistogramView(self._width, self._start, columns)

    def _extend(self, low: int, high: int) -> None:
        """Extend the bins in use to all keys from `low` to `high`."""
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
        """Move the bins in use to `places`, and merge those with equal places."""
        for name, how in self._aggregations.items():
            column = _empty_column(how)
            AGGREGATIONS[how][0].at(column, places, self._columns[name][: places.size])
            self._columns[name] = column

    def snapshot(self) -> dict[str, Any]:
        """Return the histogram as plain arrays, numbers and texts of constant size."""
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
        """Return the histogram from the snapshot `state`."""
        self = cls(state["width"], state["aggregations"], origin=state["origin"])
        self._start, self._size = state["start"], state["size"]
        self._columns = {name: column.copy() for name, column in state["columns"].items()}
        return self


def _empty_column(how: Aggregation) -> Floats:
    return np.full(MAX_BINS, AGGREGATIONS[how][1])


@dataclass(frozen=True, eq=False)
class HistoryView:
    """Read-only copy of a history."""

    times: HistogramView
    """`TIME_COLUMNS` by time in microseconds since 1970 (UTC)."""
    versions: HistogramView
    """`VERSION_COLUMNS` by version."""
    newest: int
    """Newest version with which an episode was opened; 0 if there is none."""


class History:
    """Numbers of episodes opened and returned, their delays and their returns."""

    def __init__(self) -> None:
        self.opened = 0
        """Number of episodes opened."""
        self.newest = 0
        """Newest version with which an episode was opened."""
        self._times = Histogram(MICROSECONDS_PER_SECOND, TIME_COLUMNS)
        self._versions = Histogram(1, VERSION_COLUMNS, origin=1)

    def add_opening(self, at: int, version: int) -> int:
        """Count an episode opened at time `at` with `version`; return the number opened so far."""
        self._times.count(at, "opened")
        self._versions.count(version, "opened")
        self.newest = max(self.newest, version)
        self.opened += 1
        return self.opened

    def add_returns(
        self,
        *,
        at: Sequence[int],
        opened_at: Sequence[int],
        episodes: Sequence[int],
        version: Sequence[int],
        reward_sum: Sequence[float],
    ) -> None:
        """Count episodes whose feedback is complete; each argument has a value for each episode.

        Parameters
        ----------
        at, opened_at : sequence of int
            Times of the last piece of feedback and of the opening, in microseconds.
        episodes : sequence of int
            Numbers of episodes opened in between.
        version : sequence of int
            Versions with which the episodes were opened.
        reward_sum : sequence of float
            Returns.
        """
        arrived = np.array(at, np.int64)
        # delays are not negative, even if the clock was set back
        delays = np.maximum(arrived - np.array(opened_at, np.int64), 0) / MICROSECONDS_PER_SECOND
        returns, ones = np.array(reward_sum, np.float64), np.ones(len(at))
        self._times.add(
            arrived,
            {
                "returned": ones,
                "delay": delays,
                "longest": delays,
                "episodes": np.array(episodes, np.float64),
            },
        )
        self._versions.add(
            np.array(version, np.int64),
            {"returned": ones, "earned": returns, "squares": returns * returns},
        )

    def view(self) -> HistoryView:
        """Return a read-only copy."""
        return HistoryView(self._times.view(), self._versions.view(), self.newest)

    def snapshot(self) -> dict[str, Any]:
        """Return the history as plain arrays, numbers and texts."""
        return {
            "opened": self.opened,
            "newest": self.newest,
            "times": self._times.snapshot(),
            "versions": self._versions.snapshot(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "History":
        """Return the history from the snapshot `state`."""
        self = cls()
        self.opened, self.newest = state["opened"], state["newest"]
        self._times = Histogram.restore(state["times"])
        self._versions = Histogram.restore(state["versions"])
        return self
