"""Hooks of a base that owns state: what it does with an arrival, and how it plans."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.episode import Floats, Shape


class OwnState(NamedTuple):
    """Memory that a base lays out itself; all arrays are empty for a base without hooks."""

    numbers: Floats  # (Hooks.size)
    queue: NDArray[np.float64]  # (capacity, Hooks.width) arrivals that have not been processed
    queued: NDArray[np.int64]  # (1) number of these arrivals


class Hooks(NamedTuple):
    """Functions of a base that learns from single steps, in order of arrival, not from counts."""

    absorb: Callable[..., int]
    """Kernel of (pointer, row, successor, reward) that processes an observed step. `pointer` is
    that of the `LearnerRecord`; `OwnState.queue` has room for the step."""

    plan: Callable[..., int]
    """Kernel of (pointer, plan) that updates values and actions in the table, and lists the changed
    actions in `LearnerState.changed`. `plan` is the number of the plan."""

    initialise: Callable[[Floats, Floats, Floats], None]
    """Function of (constants, q, v) that sets the values before the first plan."""

    check: Callable[[OwnState, Shape], None]
    """Function that raises ValueError if a state from a snapshot is not valid."""

    size: int = 0  # length of OwnState.numbers
    width: int = 0  # numbers of an arrival in OwnState.queue


def empty_own_state(hooks: Hooks | None, steps: int) -> OwnState:
    """Return the state of a base with these `hooks`, with room for `steps` arrivals."""
    size, width = (0, 0) if hooks is None else (hooks.size, hooks.width)
    capacity = 0 if hooks is None else steps
    return OwnState(np.zeros(size), np.zeros((capacity, width)), np.zeros(1, np.int64))


def with_queue_room(own: OwnState, steps: int) -> OwnState:
    """Return `own`, or a copy with a longer queue if there is no room for `steps` more arrivals.

    The capacity of a copy is twice the old capacity plus `steps`.
    """
    capacity, width = own.queue.shape
    if width == 0 or own.queued[0] + steps <= capacity:
        return own
    queue = np.zeros((2 * capacity + steps, width))
    queue[:capacity] = own.queue
    return own._replace(queue=queue)


def no_absorb(pointer: Any, row: int, successor: int, reward: float) -> int:
    """Return 0; takes the place of `Hooks.absorb` for a base without hooks."""
    return 0


def no_plan(pointer: Any, plan: int) -> int:
    """Return 0; takes the place of `Hooks.plan` for a base without hooks."""
    return 0
