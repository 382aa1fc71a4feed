"""Worklists: sets of integers in groups, with constant-time insertion and removal.

A worklist holds the indices of items that remain to be processed, usually grouped by stage. Each
item belongs to at most one group. The groups are linked lists that share one array of fixed size,
so that insertion allocates no memory.

>>> from belated.worklist import END, empty_worklist, put, take
>>> worklist = empty_worklist(groups=2, items=10)
>>> put(worklist, 1, 7), put(worklist, 1, 3), put(worklist, 1, 7)
(True, True, False)
>>> take(worklist, 1), take(worklist, 1), take(worklist, 1) == END
(3, 7, True)
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel

END: Final = -1
"""Index that marks the end of a linked list: there is no next item."""

ABSENT: Final = -2
"""Value of `Worklist.after` for an item that is in no group."""


class Worklist(NamedTuple):
    """Groups of items as linked lists.

    The first item of a group is `head[group]`, and the item after `item` is `after[item]`; END ends
    the list.
    """

    head: NDArray[np.int32]  # (groups) first item of the group, or END
    after: NDArray[np.int32]  # (items) next item, END, or ABSENT if the item is in no group


def empty_worklist(*, groups: int, items: int) -> Worklist:
    """Return a worklist with `groups` empty groups for the items 0 .. `items` - 1."""
    return Worklist(np.full(groups, END, np.int32), np.full(items, ABSENT, np.int32))


@inlined
def put(worklist: Worklist, group: int, item: int) -> bool:
    """Add an item to a group of a worklist, unless the item is in the worklist already.

    Parameters
    ----------
    worklist : Worklist
        Changed in place.
    group : int
        Group that receives the item.
    item : int
        Item to add.

    Returns
    -------
    bool
        True if the item was added, False if it was in the worklist already.
    """
    if worklist.after[item] != ABSENT:
        return False
    worklist.after[item] = worklist.head[group]
    worklist.head[group] = item
    return True


@inlined
def take(worklist: Worklist, group: int) -> int:
    """Remove the item of `group` that was added last from `worklist` and return the item.

    Returns END if the group is empty.
    """
    item = int(worklist.head[group])
    if item != END:
        worklist.head[group] = worklist.after[item]
        worklist.after[item] = ABSENT
    return item


@inlined
def is_empty(worklist: Worklist) -> bool:
    """Return whether `worklist` has no items."""
    used = 0
    for group in range(worklist.head.size):
        used += worklist.head[group] != END
    return used == 0


@kernel
def clear(worklist: Worklist) -> None:
    """Remove all items from `worklist`."""
    for group in range(worklist.head.size):
        while take(worklist, group) != END:
            pass


def members(worklist: Worklist) -> NDArray[np.int64]:
    """Return all items of `worklist`, in increasing order."""
    return np.flatnonzero(worklist.after != ABSENT).astype(np.int64)


def put_members(worklist: Worklist, items: NDArray[np.int64]) -> None:
    """Add `items` to `worklist`, which must be empty.

    An item is added to the group that its index determines: the items are divided into as many
    ranges of equal size as there are groups, and the first group contains the first range.
    """
    for item in items.tolist():
        put(worklist, item * worklist.head.size // worklist.after.size, item)
