"""Histogram over integer keys, whose bins become wider as the range of the keys grows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from belated.episode import Floats, Ints

MAX_BINS: Final = 256

Aggregation = Literal["sum", "max"]
AGGREGATIONS: Final = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}
"""Pair of each aggregation: function that combines two numbers, and value of an empty bin."""


@dataclass(frozen=True, eq=False)
class HistogramView:
    """Read-only copy of a histogram."""

    width: int
    """Width of a bin, in units of the key."""
    start: int
    """Smallest key of the first bin."""
    columns: Mapping[str, Floats] = field(repr=False)
    """Values of the bins in use, in order of keys: one array for each column, by column name."""
    outside: Mapping[str, int] = field(default_factory=dict)
    """Sums of the columns "opened" and "returned" over the entries that are not in any bin."""

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

    def count_in_use(self, key: int, column: str) -> bool:
        """Return whether a bin in use contains `key`; if so, count it as `count` does."""
        place = (key - self._start) // self._width
        if not 0 <= place < self._size:
            return False
        self._columns[column][place] += 1
        return True

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

    def include(self, other: "Histogram") -> None:
        """Add the bins of `other`, which must have the same origin, initial width and columns."""
        while self._width < other._width:
            self._double_width()
        if other._size:
            starts = other._start + np.arange(other._size) * other._width
            self.add(
                starts, {name: column[: other._size] for name, column in other._columns.items()}
            )

    def empty(self, width: int) -> "Histogram":
        """Return a histogram without entries, with the same origin and bins of this `width`."""
        return Histogram(width, self._aggregations, origin=self._origin)

    def limits(self, bins: int) -> tuple[int, int]:
        """Return the keys that are this number of `bins` before and after the bins in use."""
        reach = bins * self._width
        return self._start - reach, self._start + self._size * self._width + reach

    def view(self, outside: Mapping[str, int] | None = None) -> HistogramView:
        """Return a read-only copy of the histogram, with the given field `outside`."""
        columns = {name: column[: self._size].copy() for name, column in self._columns.items()}
        for column in columns.values():
            column.setflags(write=False)
        return HistogramView(self._width, self._start, columns, outside or {})

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
