"""Feedback on its way: what has been played and has not come back yet.

Episode i with delay tau is usable at the start of episode k iff i + tau < k. Five episodes, of
which the fourth never returns, in the order in which their feedback is delivered:

>>> from belated.episode import Episode
>>> queue = Queue()
>>> for k, delay in enumerate([2, 0, 0, NEVER, 1, 0, 0, 0], start=1):
...     arrived = [episode.id for episode in queue.due(k)]
...     print(f"start of {k}: arrived {arrived}, missing {queue.missing}")
...     if k <= 5:
...         queue.push(Episode(k, states=[0, 0], actions=[0]), delay)
start of 1: arrived [], missing 0
start of 2: arrived [], missing 1
start of 3: arrived [2], missing 1
start of 4: arrived [1, 3], missing 0
start of 5: arrived [], missing 1
start of 6: arrived [], missing 2
start of 7: arrived [5], missing 1
start of 8: arrived [], missing 1
"""

from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar

from belated.delays.laws import NEVER
from belated.episode import check_integer


class Feedback(Protocol):
    """An episode, or a part of one."""

    @property
    def id(self) -> int: ...


F = TypeVar("F", bound=Feedback)


class Queue(Generic[F]):
    """Feedback in flight, by the episode at whose end it arrives."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, F]] = []
        self._pushed = 0
        self._delivered = 0

    def push(self, episode: F, delay: int) -> None:
        """Send `episode` off, to be delivered `delay` episodes late; NEVER is only counted."""
        delay = check_integer(f"delay of episode {episode.id}", delay, 0)
        if delay < NEVER:
            heappush(self._heap, (episode.id + delay, episode.id, self._pushed, episode))
        self._pushed += 1

    def due(self, k: int) -> list[F]:
        """Deliver what is usable at the start of episode k, by time of arrival, then by id."""
        arrived = []
        while self._heap and self._heap[0][0] < k:
            arrived.append(heappop(self._heap)[3])
        self._delivered += len(arrived)
        return arrived

    @property
    def missing(self) -> int:
        """How many were pushed and not delivered, those that never return included: S_k."""
        return self._pushed - self._delivered

    def __len__(self) -> int:
        """How many are still to be delivered."""
        return len(self._heap)
