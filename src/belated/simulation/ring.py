"""The episodes in flight: room for what is outstanding, never for all that was played.

A heap by (arrival, number) over slots that hold a path each and are used again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined
from belated.episode import Shape


class Ring(NamedTuple):
    """Plain arrays; `size[0]` paths are in flight."""

    arrival: NDArray[np.int64]  # heap: i + tau_i
    number: NDArray[np.int64]  # heap: i
    slot: NDArray[np.int32]  # heap in its first size[0] entries, free slots after them
    states: NDArray[np.int32]  # (slots, H + 1)
    actions: NDArray[np.int32]  # (slots, H)
    size: NDArray[np.int64]  # (1)


def ring(shape: Shape, room: int = 8) -> Ring:
    """Nothing in flight."""
    return Ring(
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.arange(room, dtype=np.int32),
        np.zeros((room, shape.horizon + 1), np.int32),
        np.zeros((room, shape.horizon), np.int32),
        np.zeros(1, np.int64),
    )


def grown(old: Ring) -> Ring:
    """The same with twice the slots."""
    room = old.slot.size
    new = ring(Shape(1, 1, old.actions.shape[1]), room=2 * room)
    new.arrival[:room] = old.arrival
    new.number[:room] = old.number
    new.slot[:room] = old.slot
    new.states[:room] = old.states
    new.actions[:room] = old.actions
    new.size[:] = old.size
    return new


@inlined
def full(flying: Ring) -> bool:
    """Whether there is no free slot."""
    return flying.size[0] == flying.slot.size


@inlined
def free_slot(flying: Ring) -> int:
    """The slot that the next push takes."""
    return int(flying.slot[flying.size[0]])


@inlined
def before(flying: Ring, i: int, j: int) -> bool:
    """Whether heap entry i comes back before j."""
    if flying.arrival[i] != flying.arrival[j]:
        return flying.arrival[i] < flying.arrival[j]
    return flying.number[i] < flying.number[j]


@inlined
def swap(flying: Ring, i: int, j: int) -> None:
    """Exchange two heap entries."""
    flying.arrival[i], flying.arrival[j] = flying.arrival[j], flying.arrival[i]
    flying.number[i], flying.number[j] = flying.number[j], flying.number[i]
    flying.slot[i], flying.slot[j] = flying.slot[j], flying.slot[i]


@inlined
def push(flying: Ring, number: int, arrival: int) -> None:
    """Send off the path in the free slot; it comes back after episode `arrival`."""
    at = flying.size[0]
    flying.size[0] += 1
    flying.arrival[at] = arrival
    flying.number[at] = number
    while at > 0 and before(flying, at, (at - 1) // 2):
        swap(flying, at, (at - 1) // 2)
        at = (at - 1) // 2


@inlined
def due(flying: Ring, k: int) -> bool:
    """Whether a path is back at the start of episode k."""
    return flying.size[0] > 0 and flying.arrival[0] < k


@inlined
def pop(flying: Ring) -> int:
    """The slot of the earliest path, which is free from now on until the next push."""
    last = flying.size[0] - 1
    swap(flying, 0, last)
    flying.size[0] = last
    at = 0
    while True:
        least = at
        for child in range(2 * at + 1, min(2 * at + 3, last)):
            if before(flying, child, least):
                least = child
        if least == at:
            return int(flying.slot[last])
        swap(flying, at, least)
        at = least
