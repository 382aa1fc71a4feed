"""Buckets: small sets of integers, filled, walked and emptied in the time their content takes.

Each item belongs to one bucket at most. An array of links holds them all, so nothing grows.

>>> from belated.buckets import END, buckets, put, take
>>> some = buckets(2, items=10)
>>> put(some, 1, 7), put(some, 1, 3), put(some, 1, 7)
(True, True, False)
>>> take(some, 1), take(some, 1), take(some, 1) == END
(3, 7, True)
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel

END: Final = -1
OUT: Final = -2


class Buckets(NamedTuple):
    """Walk a bucket from `head[bucket]` along `after[item]` until END."""

    head: NDArray[np.int32]
    after: NDArray[np.int32]


def buckets(count: int, *, items: int) -> Buckets:
    """Empty buckets for the items 0 .. items - 1."""
    return Buckets(np.full(count, END, np.int32), np.full(items, OUT, np.int32))


@inlined
def put(some: Buckets, bucket: int, item: int) -> bool:
    """Put an item in; False if it is in already."""
    if some.after[item] != OUT:
        return False
    some.after[item] = some.head[bucket]
    some.head[bucket] = item
    return True


@inlined
def take(some: Buckets, bucket: int) -> int:
    """Take the newest item out; END if there is none."""
    item = int(some.head[bucket])
    if item != END:
        some.head[bucket] = some.after[item]
        some.after[item] = OUT
    return item


@kernel
def put_all(some: Buckets, items: NDArray[np.int64], width: int) -> None:
    """Put items in, each into the bucket items[i] // width."""
    for i in range(items.size):
        put(some, items[i] // width, items[i])


@kernel
def clear(some: Buckets) -> None:
    """Empty every bucket."""
    for bucket in range(some.head.size):
        while take(some, bucket) != END:
            pass
