"""Queue of the feedback in flight in the compiled engine: a list for each episode of arrival.

The feedback of an episode, or of one of its steps, is stored in a slot, which is reused after the
feedback has arrived. Slots with the same arrival i + tau_i are a linked list in the order of the
episodes and steps, and so are the free slots. The number of slots grows with the feedback in
flight, not with the number of episodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined
from belated.worklist import END


class CompiledQueue(NamedTuple):
    """Feedback in flight, as plain arrays."""

    first: NDArray[np.int32]  # (episodes) first slot for each arrival, or END
    last: NDArray[np.int32]  # (episodes) last slot for each arrival
    after: NDArray[np.int32]  # (capacity) next slot of the same list, or END
    free: NDArray[np.int64]  # (2) first free slot, or END; and the number of free slots
    number: NDArray[np.int64]  # (capacity) i for episode i, or i H + h for its step h
    states: NDArray[np.int32]  # (capacity, steps + 1)
    actions: NDArray[np.int32]  # (capacity, steps)
    rewards: NDArray[np.float64]  # (capacity, steps), or (0, steps) if rewards are known


def empty_queue(
    episodes: int, steps: int, *, rewards: bool, capacity: int = 8, start: int = 0
) -> CompiledQueue:
    """Return an empty queue.

    Parameters
    ----------
    episodes : int
        Number of episodes of the run; all arrivals are smaller.
    steps : int
        Number of steps in each slot: H for whole episodes, or 1 for single steps.
    rewards : bool
        Whether the feedback includes rewards.
    capacity : int
        Number of slots.
    start : int
        First free slot; the slots before it are in use.

    Returns
    -------
    CompiledQueue
        Queue without feedback.
    """
    return CompiledQueue(
        first=np.full(episodes, END, np.int32),
        last=np.full(episodes, END, np.int32),
        after=np.append(np.arange(1, capacity), END).astype(np.int32),
        free=np.array([start, capacity - start]),
        number=np.zeros(capacity, np.int64),
        states=np.zeros((capacity, steps + 1), np.int32),
        actions=np.zeros((capacity, steps), np.int32),
        rewards=np.zeros((capacity if rewards else 0, steps)),
    )


def enlarge(queue: CompiledQueue) -> CompiledQueue:
    """Return a copy of `queue` with twice the capacity."""
    capacity = queue.after.size
    (arrivals,), (_, steps) = queue.first.shape, queue.actions.shape
    larger = empty_queue(
        arrivals, steps, rewards=len(queue.rewards) > 0, capacity=2 * capacity, start=capacity
    )
    for name in CompiledQueue._fields:
        if name != "free":
            old = getattr(queue, name)
            getattr(larger, name)[: len(old)] = old
    larger.after[-1] = queue.free[0]
    larger.free[1] += queue.free[1]
    return larger


@inlined
def push(queue: CompiledQueue, number: int, arrival: int) -> int:
    """Add feedback to `queue`, which must have a free slot, and return the index of its slot.

    The caller stores the feedback in the slot. Feedback of episode i with delay tau_i has the
    `arrival` i + tau_i: it is usable from the start of the next episode on. `number` identifies it.
    """
    slot = queue.free[0]
    queue.free[0] = queue.after[slot]
    queue.free[1] -= 1
    queue.number[slot] = number
    queue.after[slot] = END
    if queue.first[arrival] == END:
        queue.first[arrival] = slot
    else:
        queue.after[queue.last[arrival]] = slot
    queue.last[arrival] = slot
    return int(slot)


@inlined
def pop(queue: CompiledQueue, arrival: int) -> int:
    """Remove the first feedback with this `arrival`, of which there is some; return its slot.

    The slot keeps the feedback until the next `push`.
    """
    slot = queue.first[arrival]
    queue.first[arrival] = queue.after[slot]
    queue.after[slot] = queue.free[0]
    queue.free[0] = slot
    queue.free[1] += 1
    return int(slot)
