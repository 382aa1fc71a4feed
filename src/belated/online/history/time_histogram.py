"""Histogram over time that keeps outliers aside, so that they do not make its bins wider.

A clock that was wrong for a moment, or one wrong `event_time`, gives times that are years away from
all others. A histogram that included them would have bins of weeks or months.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from belated.episode import Floats, Ints
from belated.online.history.histogram import MAX_BINS, Aggregation, Histogram, HistogramView

MICROSECONDS_PER_SECOND: Final = 1_000_000

TIME_COLUMNS: Final[dict[str, Aggregation]] = {
    "opened": "sum",
    "returned": "sum",
    "delay": "sum",
    "longest": "max",
    "episodes": "sum",
}
"""Map from the name of each column of a histogram over time to its aggregation.

"opened" and "returned" are numbers of episodes. The other columns describe the delays of returned
episodes: "delay" is the sum of the delays in seconds, "longest" is the largest delay in seconds,
and "episodes" is the sum of the delays in episodes."""

FAR_SPANS: Final = 8
"""Distance from the bins in use beyond which a time is called far and may be an outlier.

The unit of the distance is the width of `MAX_BINS` bins."""

MIN_ENTRIES: Final = 50
"""Minimum number of entries of a histogram from which on new times can be far; see `FAR_SPANS`."""

MAX_HIDDEN_SHARE: Final = 0.01
"""Maximum fraction of all entries that a view omits as outliers."""

MAX_OUTLIER_SHARE: Final = 0.1
"""Maximum fraction of all entries that can be outliers.

If more entries have far times (see `FAR_SPANS`), these times are assumed to be correct: for
example, the service was paused, or old data is imported. The entries are then merged into the
histogram permanently."""


class TimeHistogram:
    """Histogram over times in microseconds since 1970 (UTC), with the columns `TIME_COLUMNS`.

    An entry is an opened or a returned episode. It is far if its time is more than `FAR_SPANS`
    times the width of `MAX_BINS` bins away from the bins in use. Far entries are counted in a
    second histogram. A view omits them if they are at most the fraction `MAX_HIDDEN_SHARE` of all
    entries and the last entry is not far. Otherwise it includes them, with bins as wide as
    necessary.
    """

    def __init__(self) -> None:
        self._near = Histogram(MICROSECONDS_PER_SECOND, TIME_COLUMNS)
        self._far: Histogram | None = None
        self._entries = self._far_entries = 0
        self._last_is_far = False

    def count(self, key: int, column: str) -> None:
        """Add 1 to the value of `column` in the bin that contains the time `key`."""
        if not self._near.count_in_use(key, column):
            low, high = self._limits()
            if self._entries >= MIN_ENTRIES and not low <= key <= high:
                self._far_histogram().count(key, column)
                self._note_far(1, last=True)
                return
            self._near.count(key, column)
        self._entries += 1
        self._last_is_far = False

    def add(self, keys: Ints, values: Mapping[str, Floats]) -> None:
        """Add one entry for each of the times `keys`.

        `values` maps the name of a column to an array with one number for each entry.
        """
        if not keys.size:
            return
        far = np.zeros(keys.size, np.bool_)
        if self._entries >= MIN_ENTRIES:
            low, high = self._limits()
            far = (keys < low) | (keys > high)
        if not far.any():
            self._near.add(keys, values)
            self._entries += keys.size
            self._last_is_far = False
            return
        self._near.add(keys[~far], {name: numbers[~far] for name, numbers in values.items()})
        self._entries += int((~far).sum())
        self._far_histogram().add(
            keys[far], {name: numbers[far] for name, numbers in values.items()}
        )
        self._note_far(int(far.sum()), last=bool(far[-1]))

    def view(self) -> HistogramView:
        """Return a read-only copy of the histogram.

        The field `outside` of the copy contains the numbers of episodes that the copy omits.
        """
        if self._far is None:
            return self._near.view()
        hidden = self._far_entries <= MAX_HIDDEN_SHARE * (self._entries + self._far_entries)
        if hidden and not self._last_is_far:
            return self._near.view(outside=_count_entries(self._far))
        return _merge(self._near, self._far).view()

    def _limits(self) -> tuple[int, int]:
        """Return the smallest and the largest time that are not far; see `FAR_SPANS`."""
        return self._near.limits(FAR_SPANS * MAX_BINS)

    def _far_histogram(self) -> Histogram:
        if self._far is None:
            self._far = self._near.empty(MICROSECONDS_PER_SECOND)
        return self._far

    def _note_far(self, count: int, *, last: bool) -> None:
        assert self._far is not None
        self._far_entries += count
        self._last_is_far = last
        if self._far_entries > MAX_OUTLIER_SHARE * (self._entries + self._far_entries):
            self._near = _merge(self._near, self._far)
            self._entries += self._far_entries
            self._far, self._far_entries, self._last_is_far = None, 0, False

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the histogram: nested dicts of arrays, numbers and texts."""
        state = self._near.snapshot()
        if self._far is not None:
            state["far"] = {**self._far.snapshot(), "last": self._last_is_far}
        return state

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "TimeHistogram":
        """Restore a histogram from `state`, a snapshot as returned by `snapshot`."""
        self = cls()
        self._near = Histogram.restore(state)
        self._entries = sum(_count_entries(self._near).values())
        if "far" in state:
            self._far = Histogram.restore(state["far"])
            self._far_entries = sum(_count_entries(self._far).values())
            self._last_is_far = state["far"]["last"]
        return self


def _count_entries(histogram: Histogram) -> dict[str, int]:
    """Return the numbers of episodes in `histogram`, under the keys "opened" and "returned"."""
    columns = histogram.view().columns
    return {name: int(columns[name].sum()) for name in ("opened", "returned")}


def _merge(one: Histogram, other: Histogram) -> Histogram:
    """Return a histogram with the entries of `one` and `other`, which are not changed."""
    merged = Histogram.restore(one.snapshot())
    merged.include(other)
    return merged
