"""History: what has become of the episodes of a problem, by time and by version of the policy.

An episode returns when the last piece of it arrives, and counts from the tick that finds it whole.
How late it was is told in seconds, and in episodes that were opened meanwhile, both as of the
arrival of that piece and not of the tick. One that was corrected returns with its correction.
"""

from collections.abc import Mapping, Sequence
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
