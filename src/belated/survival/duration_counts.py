"""Counts of durations in groups whose width is at most 1/64 of the duration."""

from typing import Any, Final

import numpy as np

from belated.check import check_range
from belated.episode import Floats, Ints

GROUPS_PER_OCTAVE: Final = 64
"""Number of groups between a duration and its double. Durations below twice this number have
groups of their own."""

_BITS: Final = GROUPS_PER_OCTAVE.bit_length()  # of the leading digits that tell the group

MAX_GROUP: Final = GROUPS_PER_OCTAVE * 64
"""Upper bound on the number of a group, for durations below 2**63."""


class DurationCounts:
    """Numbers of durations, which are whole numbers of at least 0, in groups.

    Durations below 128 are counted exactly. Larger ones share a group with those whose leading
    seven binary digits are the same, so that a duration is known to within 1/64. The memory does
    not depend on the number of durations.

    >>> counts = DurationCounts()
    >>> for duration in (3, 3, 1000):
    ...     counts.add_one(duration)
    >>> counts.durations(), counts.numbers()
    (array([   3., 1007.]), array([2, 1]))
    """

    def __init__(self) -> None:
        self._groups: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(self._groups.values())

    def add_one(self, duration: int) -> None:
        """Count one `duration`."""
        shift = max(0, duration.bit_length() - _BITS)
        key = shift * GROUPS_PER_OCTAVE + (duration >> shift)
        self._groups[key] = self._groups.get(key, 0) + 1

    def durations(self) -> Floats:
        """Return the largest duration of each group in use, in increasing order."""
        return largest_in(np.array(sorted(self._groups), np.int64))

    def numbers(self) -> Ints:
        """Return the number of durations in each group in use, in the order of `durations`."""
        return np.array([self._groups[key] for key in sorted(self._groups)], np.int64)

    def copy(self) -> "DurationCounts":
        """Return a copy, which later additions to the original do not change."""
        copy = DurationCounts()
        copy._groups = self._groups.copy()
        return copy

    def snapshot(self) -> dict[str, Any]:
        """Return the counts as a dict of arrays, for `restore`."""
        keys = np.array(sorted(self._groups), np.int64)
        return {"groups": keys, "numbers": self.numbers()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "DurationCounts":
        """Restore counts from `state`, a snapshot; raise ValueError if it is damaged."""
        groups, numbers = state["groups"], state["numbers"]
        if groups.dtype != np.int64 or numbers.dtype != np.int64:
            raise ValueError("counts of durations must be arrays of int64")
        check_range("groups of durations", groups, 0, MAX_GROUP)
        if not (np.diff(groups) > 0).all():
            raise ValueError("groups of durations must increase")
        check_range("numbers of durations", numbers, 1, 2**62)
        self = cls()
        self._groups = dict(zip(groups.tolist(), numbers.tolist(), strict=True))
        return self


def group_of(durations: Ints) -> Ints:
    """Return the number of the group of each of `durations`; groups are numbered in order.

    >>> group_of(np.array([0, 127, 128, 129, 130]))
    array([  0, 127, 128, 128, 129])
    """
    values = np.asarray(durations, np.int64)
    # a rounding of `values` to the next power of 2 gives the same group
    digits = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(digits - _BITS, 0)
    result: Ints = shift * GROUPS_PER_OCTAVE + (values >> shift)
    return result


def largest_in(groups: Ints) -> Floats:
    """Return the largest duration of each of `groups`, the inverse of `group_of`.

    >>> largest_in(group_of(np.array([127, 128])))
    array([127., 129.])
    """
    shift = np.maximum(groups // GROUPS_PER_OCTAVE - 1, 0)
    result: Floats = (((groups - shift * GROUPS_PER_OCTAVE + 1) << shift) - 1).astype(np.float64)
    return result
