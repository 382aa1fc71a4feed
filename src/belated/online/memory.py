"""Memory of learners: estimates of their sizes, and selection of the learners to release."""

import threading
from typing import Final

from belated.online.fold import Fold

FOLD_BYTES: Final = 100_000
"""Approximate memory in bytes of a fold without its learner and without episodes in flight.

It is used for Python objects and for the bins of the history."""

EPISODE_BYTES: Final = 1_000
"""Approximate memory in bytes of an episode in flight, in the fold and in the learner together."""

FEEDBACK_BYTES: Final = 1_000
"""Approximate memory in bytes of one feedback event that is queued until the next tick."""


def estimate_bytes(fold: Fold) -> int:
    """Return the approximate memory of `fold` in bytes."""
    episodes = EPISODE_BYTES * fold.missing + FEEDBACK_BYTES * fold.waiting
    return FOLD_BYTES + fold.learner.nbytes + episodes


class LearnerMemory:
    """Record of the sizes of the learners in memory, in the order in which they were last used.

    It determines the learners to release if the sum of the sizes exceeds a limit. Several threads
    may share an instance.

    Parameters
    ----------
    limit_bytes : int or None
        Maximum sum of the sizes, in bytes; None for no limit.

    Examples
    --------
    >>> memory = LearnerMemory(100)
    >>> for id, size in ((1, 40), (2, 40), (3, 40), (1, 40)):
    ...     memory.add(id, size)
    >>> memory.excess()
    [2]
    """

    def __init__(self, limit_bytes: int | None) -> None:
        if limit_bytes is not None and limit_bytes < 0:
            raise ValueError(f"memory_limit_bytes must be at least 0, got {limit_bytes}.")
        self._limit_bytes = limit_bytes
        self._sizes: dict[int, int] = {}  # by id of the problem, least recently used first
        self._lock = threading.Lock()

    @property
    def is_limited(self) -> bool:
        """Whether the sum of the sizes is limited."""
        return self._limit_bytes is not None

    def add(self, problem: int, size_bytes: int) -> None:
        """Note that the learner of `problem`, an id, was used now and has the size `size_bytes`."""
        with self._lock:
            self._sizes.pop(problem, None)
            self._sizes[problem] = size_bytes

    def remove(self, problem: int) -> None:
        """Note that the learner of `problem`, an id, is not in memory any more."""
        with self._lock:
            self._sizes.pop(problem, None)

    def excess(self) -> list[int]:
        """Return the ids of the problems whose learners must be released to respect the limit.

        They are the least recently used learners, beginning with the one that has not been used for
        the longest time. The learner that was used last is never included.
        """
        if self._limit_bytes is None:
            return []
        with self._lock:
            total, found = sum(self._sizes.values()), []
            for problem, size in list(self._sizes.items())[:-1]:
                if total <= self._limit_bytes:
                    break
                found.append(problem)
                total -= size
            return found
