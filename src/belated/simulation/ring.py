"""The feedback in flight: room for what is outstanding, never for all that was played.

A heap by (arrival, number) over slots that are used again. A slot holds a parcel: the path of an
episode, or one step of it. Parcels are numbered in the order they are sent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined


class Ring(NamedTuple):
    """Plain arrays; `size[0]` parcels are in flight."""

    arrival: NDArray[np.int64]  # heap: i + tau_i
    number: NDArray[np.int64]  # heap: i, or i H + h for a step
    slot: NDArray[np.int32]  # heap in its first size[0] entries, free slots after them
    states: NDArray[np.int32]  # (slots, steps + 1)
    actions: NDArray[np.int32]  # (slots, steps)
    rewards: NDArray[np.float64]  # (slots, steps), or nothing where they are known
    size: NDArray[np.int64]  # (1)


def ring(steps: int, *, rewards: bool, room: int = 8) -> Ring:
    """Nothing in flight; a parcel will have so many steps, and rewards or not."""
    return Ring(
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.arange(room, dtype=np.int32),
        np.zeros((room, steps + 1), np.int32),
        np.zeros((room, steps), np.int32),
        np.zeros((room if rewards else 0, steps)),
        np.zeros(1, np.int64),
    )


def grown(old: Ring) -> Ring:
    """The same with twice the slots."""
    room = old.slot.size
    new = ring(old.actions.shape[1], rewards=len(old.rewards) > 0, room=2 * room)
    new.arrival[:room] = old.arrival
    new.number[:room] = old.number
    new.slot[:room] = old.slot
    new.states[:room] = old.states
    new.actions[:room] = old.actions
    new.rewards[: len(old.rewards)] = old.rewards
    new.size[:] = old.size
    return new


@inlined
def full(flying: Ring, parcels: int) -> bool:
    """Whether there is no room for so many parcels more."""
    return flying.size[0] + parcels > flying.slot.size


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
    """Send off the parcel in the free slot; it comes back after episode `arrival`."""
    at = flying.size[0]
    flying.size[0] += 1
    flying.arrival[at] = arrival
    flying.number[at] = number
    while at > 0 and before(flying, at, (at - 1) // 2):
        swap(flying, at, (at - 1) // 2)
        at = (at - 1) // 2


@inlined
def due(flying: Ring, k: int) -> bool:
    """Whether a parcel is back at the start of episode k."""
    return flying.size[0] > 0 and flying.arrival[0] < k


@inlined
def pop(flying: Ring) -> int:
    """The slot of the earliest parcel, which is free from now on until the next push."""
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
