"""Bins: sums by key, in at most 256 bins of one width.

The width doubles when more would be needed, and neighbours become one. They lie at multiples of the
width from a fixed origin, so that what they come to depends on what was added and not on the
moment of doubling.

>>> bins = Bins(1, {"seen": "sum"}, origin=0)
>>> for key in (0, 1, 299):
...     bins.count(key, "seen")
>>> view = bins.view()
>>> view.width, len(view), view.columns["seen"][[0, 149]].tolist()
(2, 150, [2.0, 1.0])
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from belated.episode import Floats, Ints

MOST: Final = 256
"""The most bins."""

How = Literal["sum", "max"]
WAYS: Final = {"sum": (np.add, 0.0), "max": (np.maximum, -np.inf)}
"""How numbers become one, and what none of them come to."""


@dataclass(frozen=True, eq=False)
class View:
    """Bins as they were at some moment."""

    width: int
    start: int
    """Where the first one begins."""
    columns: Mapping[str, Floats] = field(repr=False)
    """A number for each bin, from the first that has one to the last."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def starts(self) -> list[int]:
        """Where each begins."""
        return [self.start + place * self.width for place in range(len(self))]


class Bins:
    """Numbers by key, in columns.

    - `width`: of a bin, in the beginning.
    - `columns`: their names, and whether a bin has the "sum" of what was added or the "max" of it.
    - `origin`: where a bin begins; None for the first key, rounded down to the width.
    """

    def __init__(
        self, width: int, columns: Mapping[str, How], *, origin: int | None = None
    ) -> None:
        self._width = width
        self._how = dict(columns)
        self._origin = origin
        self._start = origin or 0  # of the bin at place 0
        self._size = 0  # how many are in use
        self._columns = {name: _blank(how) for name, how in columns.items()}

    def count(self, key: int, column: str) -> None:
        """Add one to a sum; faster than `add` for a single key."""
        place = (key - self._start) // self._width
        if not 0 <= place < self._size:
            self._reach(key, key)
            place = (key - self._start) // self._width
        self._columns[column][place] += 1

    def add(self, keys: Ints, values: Mapping[str, Floats]) -> None:
        """Add a number for each key to some of the columns."""
        if not keys.size:
            return
        self._reach(int(keys.min()), int(keys.max()))
        places = (keys - self._start) // self._width
        for name, numbers in values.items():
            WAYS[self._how[name]][0].at(self._columns[name], places, numbers)

    def view(self) -> View:
        """All of them; what is added later does not change it."""
        columns = {name: column[: self._size].copy() for name, column in self._columns.items()}
        for column in columns.values():
            column.setflags(write=False)
        return View(self._width, self._start, columns)

    def _reach(self, least: int, most: int) -> None:
        """Make room for these keys and all between."""
        if self._origin is None:
            self._origin = least // self._width * self._width
        while True:
            start, end = (self._edge(key) for key in (least, most))
            if self._size:
                start = min(start, self._start)
                end = max(end, self._start + (self._size - 1) * self._width)
            if (end - start) // self._width < MOST:
                break
            self._double()
        if start < self._start:
            self._move(np.arange(self._size) + (self._start - start) // self._width)
        self._start, self._size = start, (end - start) // self._width + 1

    def _edge(self, key: int) -> int:
        """Where the bin of a key begins."""
        assert self._origin is not None
        return self._origin + (key - self._origin) // self._width * self._width

    def _double(self) -> None:
        """Make one of two."""
        starts = self._start + np.arange(self._size) * self._width
        self._width *= 2
        self._start = self._edge(self._start)
        places = (starts - self._start) // self._width
        self._move(places)
        self._size = int(places[-1]) + 1 if self._size else 0

    def _move(self, places: Ints) -> None:
        """Put each bin at another place, where several become one."""
        for name, how in self._how.items():
            column = _blank(how)
            WAYS[how][0].at(column, places, self._columns[name][: places.size])
            self._columns[name] = column

    def snapshot(self) -> dict[str, Any]:
        """Plain arrays, numbers and texts; always of one size."""
        return {
            "width": self._width,
            "origin": self._origin,
            "start": self._start,
            "size": self._size,
            "how": dict(self._how),
            "columns": {name: column.copy() for name, column in self._columns.items()},
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Bins":
        """As they were."""
        self = cls(state["width"], state["how"], origin=state["origin"])
        self._start, self._size = state["start"], state["size"]
        self._columns = {name: column.copy() for name, column in state["columns"].items()}
        return self


def _blank(how: How) -> Floats:
    return np.full(MOST, WAYS[how][1])
