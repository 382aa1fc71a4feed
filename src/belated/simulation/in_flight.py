"""Feedback in flight in the compiled engine, ordered by arrival.

A binary heap by (arrival, number) over slots that are reused, so that memory grows with the
feedback outstanding and not with the episodes played. A slot holds the feedback of a whole
episode, or of one step of it. Feedback is numbered in the order it is sent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined


class InFlightHeap(NamedTuple):
    """Heap of the feedback in flight, as plain arrays."""

    arrival: NDArray[np.int64]  # (capacity) heap: i + tau_i
    number: NDArray[np.int64]  # (capacity) heap: i, or i H + h for a step
    slot: NDArray[np.int32]  # (capacity) heap in the first size[0] entries, then free slots
    states: NDArray[np.int32]  # (capacity, steps + 1)
    actions: NDArray[np.int32]  # (capacity, steps)
    rewards: NDArray[np.float64]  # (capacity, steps), or (0, steps) where rewards are known
    size: NDArray[np.int64]  # (1) number of entries in flight


def empty_heap(steps: int, *, rewards: bool, capacity: int = 8) -> InFlightHeap:
    """Return an empty heap.

    Parameters
    ----------
    steps : int
        Steps in one piece of feedback: H, or 1.
    rewards : bool
        Whether the feedback carries rewards.
    capacity : int
        Number of slots.

    Returns
    -------
    InFlightHeap
        Heap without entries.
    """
    return InFlightHeap(
        arrival=np.zeros(capacity, np.int64),
        number=np.zeros(capacity, np.int64),
        slot=np.arange(capacity, dtype=np.int32),
        states=np.zeros((capacity, steps + 1), np.int32),
        actions=np.zeros((capacity, steps), np.int32),
        rewards=np.zeros((capacity if rewards else 0, steps)),
        size=np.zeros(1, np.int64),
    )


def enlarge(heap: InFlightHeap) -> InFlightHeap:
    """Return a copy of `heap` with twice the capacity."""
    rewards = len(heap.rewards) > 0
    larger = empty_heap(heap.actions.shape[1], rewards=rewards, capacity=2 * heap.slot.size)
    for name in InFlightHeap._fields:
        old = getattr(heap, name)
        getattr(larger, name)[: len(old)] = old
    return larger


@inlined
def is_full(heap: InFlightHeap, pieces: int) -> bool:
    """Return whether `heap` has no room for `pieces` more entries."""
    return heap.size[0] + pieces > heap.slot.size


@inlined
def free_slot(heap: InFlightHeap) -> int:
    """Return the slot of `heap` that the next `push` uses."""
    return int(heap.slot[heap.size[0]])


@inlined
def precedes(heap: InFlightHeap, i: int, j: int) -> bool:
    """Return whether entry `i` of `heap` arrives before entry `j`."""
    if heap.arrival[i] != heap.arrival[j]:
        return heap.arrival[i] < heap.arrival[j]
    return heap.number[i] < heap.number[j]


@inlined
def swap(heap: InFlightHeap, i: int, j: int) -> None:
    """Exchange the entries `i` and `j` of `heap`."""
    heap.arrival[i], heap.arrival[j] = heap.arrival[j], heap.arrival[i]
    heap.number[i], heap.number[j] = heap.number[j], heap.number[i]
    heap.slot[i], heap.slot[j] = heap.slot[j], heap.slot[i]


@inlined
def push(heap: InFlightHeap, number: int, arrival: int) -> None:
    """Add the feedback in the free slot of `heap` as `number`, due after episode `arrival`."""
    at = heap.size[0]
    heap.size[0] += 1
    heap.arrival[at] = arrival
    heap.number[at] = number
    while at > 0 and precedes(heap, at, (at - 1) // 2):
        swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@inlined
def has_arrived(heap: InFlightHeap, k: int) -> bool:
    """Return whether the first entry of `heap` is usable at the start of episode `k`."""
    return heap.size[0] > 0 and heap.arrival[0] < k


@inlined
def pop(heap: InFlightHeap) -> int:
    """Remove the first entry of `heap` and return its slot, valid until the next `push`."""
    last = heap.size[0] - 1
    swap(heap, 0, last)
    heap.size[0] = last
    at = 0
    while True:
        first = at
        for child in range(2 * at + 1, min(2 * at + 3, last)):
            if precedes(heap, child, first):
                first = child
        if first == at:
            return int(heap.slot[last])
        swap(heap, at, first)
        at = first
