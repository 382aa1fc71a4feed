"""Queue of feedback in flight, ordered by arrival.

Feedback of episode i with delay tau is usable at the start of episode k if and only if
i + tau < k. In the following example, the feedback of the fourth of five episodes never arrives:

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

from belated.check import check_integer
from belated.delays.laws import NEVER


class HasEpisodeId(Protocol):
    """Feedback of a whole episode or a part of an episode, with the number of the episode."""

    @property
    def id(self) -> int:
        """Number of the episode."""
        ...


Item = TypeVar("Item", bound=HasEpisodeId)


class Queue(Generic[Item]):
    """Priority queue of feedback in flight, ordered by time of arrival.

    Feedback of episode i with delay tau arrives at the end of episode i + tau.

    >>> from belated.episode import Episode
    >>> queue = Queue()
    >>> queue.push(Episode(1, states=[0, 0], actions=[0]), delay=2)
    >>> queue.due(3), queue.missing, [episode.id for episode in queue.due(4)]
    ([], 1, [1])
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, Item]] = []  # (arrival, id, order of push, item)
        self._pushed = 0
        self._delivered = 0

    def push(self, episode: Item, delay: int) -> None:
        """Add the feedback `episode`, which arrives `delay` episodes after the end of its episode.

        Feedback with the delay `NEVER` is counted as missing, but not stored.
        """
        delay = check_integer(f"delay of episode {episode.id}", delay, 0)
        if delay < NEVER:
            heappush(self._heap, (episode.id + delay, episode.id, self._pushed, episode))
        self._pushed += 1

    def due(self, k: int) -> list[Item]:
        """Remove and return the feedback that is usable at the start of episode `k`.

        The returned list is ordered by arrival, then by number of the episode.
        """
        arrived = []
        while self._heap and self._heap[0][0] < k:
            arrived.append(heappop(self._heap)[3])
        self._delivered += len(arrived)
        return arrived

    @property
    def missing(self) -> int:
        """Number of items pushed but not yet returned by `due`, including items that never arrive.

        After a call of `due(k)`, this number is S_k if each item is a whole episode.
        """
        return self._pushed - self._delivered

    def __len__(self) -> int:
        """Return the number of items in the queue. Items with the delay `NEVER` are not stored."""
        return len(self._heap)
