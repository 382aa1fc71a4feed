"""The set of episode ids already taken: a bit each where ids run on, little more where not."""

from typing import Any

import numpy as np

_BITS = 4096


class IdSet:
    """A growing set of non-negative integers.

    >>> ids = IdSet()
    >>> ids.add(7)
    >>> 7 in ids, 8 in ids, len(ids)
    (True, False, 1)
    """

    def __init__(self) -> None:
        self._chunks: dict[int, int] = {}
        self._size = 0

    def __contains__(self, id: int) -> bool:
        chunk, bit = divmod(id, _BITS)
        return bool(self._chunks.get(chunk, 0) >> bit & 1)

    def __len__(self) -> int:
        return self._size

    def add(self, id: int) -> None:
        """Take an id that is not in the set yet."""
        chunk, bit = divmod(id, _BITS)
        self._chunks[chunk] = self._chunks.get(chunk, 0) | 1 << bit
        self._size += 1

    def snapshot(self) -> dict[str, Any]:
        """Plain arrays."""
        bits = b"".join(word.to_bytes(_BITS // 8, "little") for word in self._chunks.values())
        return {
            "chunks": np.array(list(self._chunks), np.int64),
            "bits": np.frombuffer(bits, np.uint8).reshape(-1, _BITS // 8).copy(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "IdSet":
        """The set as it was."""
        self = cls()
        for chunk, bits in zip(state["chunks"], state["bits"], strict=True):
            word = int.from_bytes(bits.tobytes(), "little")
            self._chunks[int(chunk)] = word
            self._size += word.bit_count()
        return self
