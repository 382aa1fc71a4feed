"""Queue of the feedback in flight in the compiled engine, ordered by arrival.

The queue is a binary heap. Its entries are ordered by arrival, i + tau_i, and then by number.
Feedback is numbered in the order of the episodes and steps. The feedback of an entry is stored in a
slot, which is reused after the feedback has arrived. Memory therefore grows with the feedback in
flight, not with the number of episodes. A slot holds the feedback of a whole episode, or of one
step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined


class CompiledQueue(NamedTuple):
    """Heap of the feedback in flight, as plain arrays."""

    # Heap entries; only the first size[0] are in use
    arrival: NDArray[np.int64]  # (capacity) i + tau_i for episode i
    number: NDArray[np.int64]  # (capacity) i, or i H + h for step h
    slot: NDArray[np.int32]  # (capacity) slot of each entry; after size[0] entries, free slots
    # Slots
    states: NDArray[np.int32]  # (capacity, steps + 1)
    actions: NDArray[np.int32]  # (capacity, steps)
    rewards: NDArray[np.float64]  # (capacity, steps), or (0, steps) if rewards are known
    size: NDArray[np.int64]  # (1) number of entries


def empty_queue(steps: int, *, rewards: bool, capacity: int = 8) -> CompiledQueue:
    """Return an empty queue.

    Parameters
    ----------
    steps : int
        Number of steps in each entry: H for whole episodes, or 1 for single steps.
    rewards : bool
        Whether the feedback includes rewards.
    capacity : int
        Number of slots.

    Returns
    -------
    CompiledQueue
        Queue without entries.
    """
    return CompiledQueue(
        arrival=np.zeros(capacity, np.int64),
        number=np.zeros(capacity, np.int64),
        slot=np.arange(capacity, dtype=np.int32),
        states=np.zeros((capacity, steps + 1), np.int32),
        actions=np.zeros((capacity, steps), np.int32),
        rewards=np.zeros((capacity if rewards else 0, steps)),
        size=np.zeros(1, np.int64),
    )


def enlarge(queue: CompiledQueue) -> CompiledQueue:
    """Return a copy of `queue` with twice the capacity."""
    rewards = len(queue.rewards) > 0
    larger = empty_queue(queue.actions.shape[1], rewards=rewards, capacity=2 * queue.slot.size)
    for name in CompiledQueue._fields:
        old = getattr(queue, name)
        getattr(larger, name)[: len(old)] = old
    return larger


@inlined
def is_full(queue: CompiledQueue, pieces: int) -> bool:
    """Return whether `queue` has free capacity for fewer than `pieces` more entries."""
    return queue.size[0] + pieces > queue.slot.size


@inlined
def free_slot(queue: CompiledQueue) -> int:
    """Return the index of the slot of `queue` in which to store the feedback of the next `push`."""
    return int(queue.slot[queue.size[0]])


@inlined
def precedes(queue: CompiledQueue, i: int, j: int) -> bool:
    """Return whether entry `i` of `queue` comes before entry `j`, by arrival, then by number."""
    if queue.arrival[i] != queue.arrival[j]:
        return queue.arrival[i] < queue.arrival[j]
    return queue.number[i] < queue.number[j]


@inlined
def swap(queue: CompiledQueue, i: int, j: int) -> None:
    """Exchange the heap entries `i` and `j` of `queue`."""
    queue.arrival[i], queue.arrival[j] = queue.arrival[j], queue.arrival[i]
    queue.number[i], queue.number[j] = queue.number[j], queue.number[i]
    queue.slot[i], queue.slot[j] = queue.slot[j], queue.slot[i]


@inlined
def push(queue: CompiledQueue, number: int, arrival: int) -> None:
    """Add an entry to the queue.

    Store the feedback of the entry in the slot `free_slot(queue)` before the call.

    Parameters
    ----------
    queue : CompiledQueue
        Queue with free capacity, changed in place.
    number : int
        Number of the feedback; entries with the same arrival are ordered by it.
    arrival : int
        Time of arrival i + tau_i of the feedback of episode i with delay tau_i. The feedback is
        usable from the start of episode i + tau_i + 1 on.
    """
    at = queue.size[0]
    queue.size[0] += 1
    queue.arrival[at] = arrival
    queue.number[at] = number
    while at > 0 and precedes(queue, at, (at - 1) // 2):
        swap(queue, at, (at - 1) // 2)
        at = (at - 1) // 2


@inlined
def has_arrived(queue: CompiledQueue, k: int) -> bool:
    """Return whether the first entry of `queue` is usable at the start of episode `k`."""
    return queue.size[0] > 0 and queue.arrival[0] < k


@inlined
def pop(queue: CompiledQueue) -> int:
    """Remove the first entry of `queue` and return the index of its slot.

    The slot keeps the feedback until the next `push`. The queue must not be empty.
    """
    last = queue.size[0] - 1
    swap(queue, 0, last)
    queue.size[0] = last
    at = 0
    while True:
        first = at
        for child in range(2 * at + 1, min(2 * at + 3, last)):
            if precedes(queue, child, first):
                first = child
        if first == at:
            return int(queue.slot[last])
        swap(queue, at, first)
        at = first
