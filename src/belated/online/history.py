"""Episodes of a problem: those in flight, and statistics over time and over versions of the policy.

The statistics are histograms. An episode has returned when its feedback is complete; it is counted
at the next tick. Its delay lasts from its opening to the last feedback, not to the tick. For a
corrected episode, the correction is the only feedback.

There are two histograms over time. The first one uses the times at which openings and feedback
happened, `Event.happened_at`; the last feedback is the one with the latest time. The second one, of
arrivals, uses the times of recording; the last feedback is the one that arrived last. The delay in
episodes is the number of episodes whose openings arrived between the opening of the episode and the
arrival of its last feedback.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from belated.check import check_finite, check_integer, check_range
from belated.episode import Floats
from belated.survival.duration_counts import DurationCounts

BEFORE_ALL_TIMES: Final = -(2**63)
"""Time in microseconds that is earlier than every time of an event."""


@dataclass(slots=True)
class OpenEpisode:
    """Episode in flight.

    The learner's `PendingEpisode` records which steps of the episode have arrived.
    """

    number: int
    """Number of the episode within its problem; the learner uses it as the episode id."""
    opened_at: int
    """Time at which the episode was opened, in microseconds since 1970 (UTC)."""
    recorded_at: int
    """Time at which the opening was recorded, in microseconds since 1970 (UTC)."""
    version: int
    """Version of the policy that the episode follows."""
    place: int
    """Number of episodes of the problem that were opened before this episode, plus 1."""
    last_feedback_at: int = BEFORE_ALL_TIMES
    """Latest time at which absorbed feedback of the episode originated, in microseconds since 1970
    (UTC); `BEFORE_ALL_TIMES` if no feedback has been absorbed."""
    reward_sum: float = 0.0
    """Sum of the rewards of the episode that the learner has absorbed, in the units of the
    problem."""
    early_rewards: dict[int, float] = field(default_factory=dict)
    """Map from the step to the reward, in the units of the problem, for rewards that arrived before
    the path of the episode. The learner absorbs them when the path arrives."""

    def snapshot(self) -> list[Any]:
        """Return the fields as a list of numbers and, for early rewards, a list of pairs."""
        *numbers, early = (getattr(self, name) for name in self.__slots__)
        return [*numbers, [list(item) for item in early.items()]]

    @classmethod
    def restore(cls, state: list[Any], horizon: int) -> "OpenEpisode":
        """Restore an episode from `state`, a list as returned by `snapshot`.

        `horizon` is the number of steps of an episode. Raises ValueError or TypeError if a number
        has a wrong type, or if an early reward is not finite, or its step not in 0 .. H - 1.
        """
        *integers, reward_sum, early = state
        for number in integers:
            check_integer("field of an episode in flight", number, BEFORE_ALL_TIMES)
        for step, reward in early:
            check_range("step of an early reward", check_integer("step", step, 0), 0, horizon - 1)
            check_finite("early reward", np.array(reward, np.float64))
        episode = cls(*integers)
        episode.reward_sum, episode.early_rewards = float(reward_sum), dict(early)
        return episode


MICROSECONDS_PER_SECOND: Final = 1_000_000

MAX_BINS: Final = 256
"""Maximum number of bins of a view."""

MAX_STORED_BINS: Final = 1024
"""Maximum number of bins with entries that a histogram stores; it then doubles their width."""

FAR_SPANS: Final = 8
"""Distance beyond which a time is an outlier, in spans of `MAX_BINS` bins of the other times."""

MAX_OUTLIER_SHARE: Final = 0.01
"""Maximum fraction of all entries that can be earlier, and later, outliers."""

TIME_COLUMNS: Final = ("opened", "returned", "delay", "longest", "episodes")
"""Columns of a histogram over time.

"opened" and "returned" are numbers of episodes. The other columns describe the delays of returned
episodes: "delay" is the sum of the delays in seconds, "longest" is the largest delay in seconds,
and "episodes" is the sum of the delays in episodes."""

VERSION_COLUMNS: Final = ("opened", "returned", "earned", "squares")
"""Columns of the histogram over versions.

"opened" and "returned" are numbers of episodes. The return of an episode is the sum of its rewards.
"earned" is the sum of the returns of returned episodes, and "squares" is the sum of the squares of
these returns."""

LARGEST: Final = ("longest",)
"""Columns in which a bin holds the largest of the numbers added to it; the others hold the sum."""

Row: TypeAlias = list[float]
"""Content of a bin: one number for each column."""


@dataclass(frozen=True, eq=False)
class HistogramView:
    """Read-only copy of a histogram, with at most `MAX_BINS` bins of equal width side by side."""

    width: int
    """Width of a bin, in the unit of the keys."""
    starts: list[int] = field(repr=False)
    """Smallest key of each bin, in increasing order."""
    columns: Mapping[str, Floats] = field(repr=False)
    """Map from the name of each column to an array with its value in each bin, in order of the
    keys."""
    outside: Mapping[str, int] = field(default_factory=dict)
    """Numbers of episodes that are not in any bin, under the keys "opened" and "returned". Empty if
    all episodes are in bins."""


class Histogram:
    """Histogram over integer keys, with several columns: a map from bins to numbers.

    Only bins with entries are stored, so that a wrong clock costs one bin. Bins start at multiples
    of the width from a fixed origin, so that they do not depend on when the width was doubled.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns.
    width : int
        Initial width of a bin.
    origin : int, optional
        Key at which some bin starts. If None, the origin is the first key that is added, rounded
        down to a multiple of the width.

    >>> histogram = Histogram(("opened", "returned"), origin=0)
    >>> for key in (0, 1, 299):
    ...     histogram.add(key, {"opened": 1})
    >>> view = histogram.view()
    >>> view.width, len(view.starts), view.columns["opened"][[0, 149]].tolist()
    (2, 150, [2.0, 1.0])
    """

    def __init__(
        self, columns: tuple[str, ...], width: int = 1, *, origin: int | None = None
    ) -> None:
        self._columns = columns
        self._empty = [-np.inf if name in LARGEST else 0.0 for name in columns]
        self._width = width
        self._origin = origin
        self._last = 0  # the key that was added last
        self._bins: dict[int, Row] = {}

    def add(self, key: int, values: Mapping[str, float]) -> None:
        """Add one entry: combine `values` with the columns of the bin that contains `key`."""
        if self._origin is None:
            self._origin = key // self._width * self._width
        self._last = key
        self._combine(self._bins, (key - self._origin) // self._width, values)
        if len(self._bins) > MAX_STORED_BINS:
            self._width *= 2
            self._bins = self._merged(1, self._bins)

    def view(self, *, hides_outliers: bool = False) -> HistogramView:
        """Return a read-only copy of the histogram.

        With `hides_outliers`, bins far from all others are left out and counted apart, unless they
        contain the entry that was added last, or more than `MAX_OUTLIER_SHARE` of all entries.
        """
        shown = self._near() if hides_outliers else self._bins
        octaves = _octaves(min(shown, default=0), max(shown, default=0))
        bins, width = self._merged(octaves, shown), self._width << octaves
        places = range(min(bins), max(bins) + 1) if bins else range(0)
        outside: dict[str, int] = {}
        if len(shown) < len(self._bins):
            hidden = self._stack([self._bins[place] for place in self._bins.keys() - shown.keys()])
            outside = {name: int(hidden[name].sum()) for name in ("opened", "returned")}
        return HistogramView(
            width,
            [(self._origin or 0) + place * width for place in places],
            self._stack([bins.get(place, self._empty) for place in places]),
            outside,
        )

    def _near(self) -> dict[int, Row]:
        """Return the bins without outliers."""
        places = sorted(self._bins)
        columns = self._stack([self._bins[place] for place in places])
        entries = columns["opened"] + columns["returned"]
        limit = MAX_OUTLIER_SHARE * entries.sum()
        if not limit:
            return self._bins
        low = places[np.searchsorted(entries.cumsum(), limit, "right")]
        high = places[-1 - np.searchsorted(entries[::-1].cumsum(), limit, "right")]
        reach = FAR_SPANS * MAX_BINS << _octaves(low, high)
        last = (self._last - (self._origin or 0)) // self._width
        if not low - reach <= last <= high + reach:
            return self._bins
        near = (place for place in places if low - reach <= place <= high + reach)
        return {place: self._bins[place] for place in near}

    def _merged(self, octaves: int, bins: Mapping[int, Row]) -> dict[int, Row]:
        """Return `bins` as bins that are wider by the factor 2 to the power of `octaves`."""
        merged: dict[int, Row] = {}
        for place in sorted(bins):
            row = dict(zip(self._columns, bins[place], strict=True))
            self._combine(merged, place >> octaves, row)
        return merged

    def _combine(self, bins: dict[int, Row], place: int, values: Mapping[str, float]) -> None:
        """Combine `values` with the columns of the bin at `place` of `bins`."""
        row = bins.setdefault(place, [*self._empty])
        for name, value in values.items():
            i = self._columns.index(name)
            row[i] = max(row[i], value) if name in LARGEST else row[i] + value

    def _stack(self, rows: Sequence[Row]) -> dict[str, Floats]:
        """Return the columns of `rows` as read-only arrays."""
        table = np.array(rows, np.float64).reshape(-1, len(self._columns)).T.copy()
        table.setflags(write=False)
        return dict(zip(self._columns, table, strict=True))

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the histogram: a dict of arrays and numbers."""
        places = sorted(self._bins)
        return {
            "width": self._width,
            "origin": self._origin,
            "last": self._last,
            "places": np.array(places, np.int64),
            **self._stack([self._bins[place] for place in places]),
        }

    def restore(self, state: dict[str, Any]) -> "Histogram":
        """Restore the content of a new histogram from `state`, a snapshot, and return it."""
        self._width = check_integer("width", state["width"], 1)
        self._origin, self._last = state["origin"], state["last"]
        rows = zip(*(state[name].tolist() for name in self._columns), strict=True)
        self._bins = dict(zip(state["places"].tolist(), map(list, rows), strict=True))
        return self


def _octaves(low: int, high: int) -> int:
    """Return how often the width must double for `MAX_BINS` bins to hold those at both places."""
    octaves = 0
    while (high >> octaves) - (low >> octaves) >= MAX_BINS:
        octaves += 1
    return octaves


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


class History:
    """Statistics of a problem: numbers of opened and returned episodes, delays, sums of rewards."""

    def __init__(self) -> None:
        self.opened = 0
        """Number of episodes opened so far."""
        self.newest = 0
        """Newest version of the policy that any opened episode follows; 0 if none was opened."""
        self._times = Histogram(TIME_COLUMNS, MICROSECONDS_PER_SECOND)
        self._arrivals = Histogram(TIME_COLUMNS, MICROSECONDS_PER_SECOND)
        self._versions = Histogram(VERSION_COLUMNS, origin=1)
        self._delays = DurationCounts()

    def add_opening(self, episode: OpenEpisode) -> None:
        """Add an opened episode to the statistics."""
        self._times.add(episode.opened_at, {"opened": 1})
        self._arrivals.add(episode.recorded_at, {"opened": 1})
        self._versions.add(episode.version, {"opened": 1})
        self.newest = max(self.newest, episode.version)
        self.opened += 1

    def add_return(self, episode: OpenEpisode, *, recorded_at: int, episodes: int) -> None:
        """Add an episode whose feedback is complete to the statistics.

        Parameters
        ----------
        episode : OpenEpisode
            The episode.
        recorded_at : int
            Time at which its last feedback was recorded, in microseconds since 1970 (UTC).
        episodes : int
            Delay in episodes: number of other episodes that were opened after the opening of this
            episode and before the arrival of its last feedback.
        """
        for histogram, start, end in (
            (self._times, episode.opened_at, episode.last_feedback_at),
            (self._arrivals, episode.recorded_at, recorded_at),
        ):
            # delays are not negative, even if a clock was wrong or was set back
            delay = max(end - start, 0) / MICROSECONDS_PER_SECOND
            delays = {"delay": delay, "longest": delay, "episodes": episodes}
            histogram.add(end, {"returned": 1, **delays})
        self._delays.add_one(max(episode.last_feedback_at - episode.opened_at, 0))
        earned = episode.reward_sum
        returns = {"earned": earned, "squares": earned * earned}
        self._versions.add(episode.version, {"returned": 1, **returns})

    def view(self) -> HistoryView:
        """Return a read-only copy of the history."""
        return HistoryView(
            self._times.view(hides_outliers=True),
            self._arrivals.view(hides_outliers=True),
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
        self._times.restore(state["times"])
        self._arrivals.restore(state["arrivals"])
        self._versions.restore(state["versions"])
        self._delays = DurationCounts.restore(state["delays"])
        check_range("number of delays", len(self._delays), 0, self.opened)
        return self
