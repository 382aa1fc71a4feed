"""Histogram over integer keys, whose bins become wider as the range of the keys grows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from belated.episode import Floats, Ints

MAX_BINS: Final = 256

Aggregation = Literal["sum", "max"]
AGGREGATIONS: Final = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}
"""Map from the name of an aggregation to a pair: the function that combines two numbers, and the
value of an empty bin."""


@dataclass(frozen=True, eq=False)
class HistogramView:
    """Read-only copy of a histogram."""

    width: int
    """Width of a bin, in the unit of the keys."""
    start: int
    """Smallest key of the first bin."""
    columns: Mapping[str, Floats] = field(repr=False)
    """Map from the name of each column to an array with its value in each bin, in order of the
    keys."""
    outside: Mapping[str, int] = field(default_factory=dict)
    """Numbers of episodes that are not in any bin, under the keys "opened" and "returned". Empty if
    all episodes are in bins."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def starts(self) -> list[int]:
        """Smallest key of each bin, in increasing order."""
        return [self.start + place * self.width for place in range(len(self))]


class Histogram:
    """Histogram over integer keys, with several columns and at most 256 bins of equal width.

    The bins in use cover the range from the smallest to the largest key that was added. If more
    than 256 would be needed, the width doubles and neighbouring bins are merged. Bins start at
    multiples of the width from a fixed origin, so that the bins do not depend on when the width was
    doubled.

    Parameters
    ----------
    width : int
        Initial width of a bin.
    columns : mapping
        Map from the name of each column to its aggregation, "sum" or "max".
    origin : int, optional
        Key at which some bin starts. If None, the origin is the first key that is added, rounded
        down to a multiple of the width.

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
        """Add 1 to the value of `column` in the bin that contains `key`.

        For a single key, this is faster than `add`.
        """
        place = (key - self._start) // self._width
        if not 0 <= place < self._size:
            self._extend(key, key)
            place = (key - self._start) // self._width
        self._columns[column][place] += 1

    def count_in_use(self, key: int, column: str) -> bool:
        """Add 1 to the value of `column` in the bin that contains `key`, if this bin is in use.

        The bins in use cover the keys added so far. Returns whether the bin is in use. If it is
        not, the histogram is not changed.
        """
        place = (key - self._start) // self._width
        if not 0 <= place < self._size:
            return False
        self._columns[column][place] += 1
        return True

    def add(self, keys: Ints, values: Mapping[str, Floats]) -> None:
        """Add numbers to several columns.

        `values` maps the name of a column to an array with one number for each of `keys`. Each
        number is combined, by the aggregation of its column, with the value in the bin that
        contains its key.
        """
        if not keys.size:
            return
        self._extend(int(keys.min()), int(keys.max()))
        places = (keys - self._start) // self._width
        for name, numbers in values.items():
            AGGREGATIONS[self._aggregations[name]][0].at(self._columns[name], places, numbers)

    def include(self, other: "Histogram") -> None:
        """Add the content of `other` to this histogram.

        Both histograms must have the same origin, initial width and columns.
        """
        while self._width < other._width:
            self._double_width()
        if other._size:
            starts = other._start + np.arange(other._size) * other._width
            self.add(
                starts, {name: column[: other._size] for name, column in other._columns.items()}
            )

    def empty(self, width: int) -> "Histogram":
        """Return a new, empty histogram with the same columns and origin, and bins of `width`."""
        return Histogram(width, self._aggregations, origin=self._origin)

    def limits(self, bins: int) -> tuple[int, int]:
        """Return the two keys that are `bins` bin widths before and after the bins in use."""
        reach = bins * self._width
        return self._start - reach, self._start + self._size * self._width + reach

    def view(self, outside: Mapping[str, int] | None = None) -> HistogramView:
        """Return a read-only copy of the histogram.

        `outside` holds the numbers of episodes that the histogram omits; see
        `HistogramView.outside`. None means that it omits none.
        """
        columns = {name: column[: self._size].copy() for name, column in self._columns.items()}
        for column in columns.values():
            column.setflags(write=False)
        return HistogramView(self._width, self._start, columns, outside or {})

    def _extend(self, low: int, high: int) -> None:
        """Extend the range of bins in use so that it includes the keys from `low` to `high`.

        The width of the bins is doubled while more than `MAX_BINS` bins would be necessary.
        """
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
        """Move each bin in use to a new index, and merge bins that have the same new index.

        `places` contains the new index of each bin in use.
        """
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
