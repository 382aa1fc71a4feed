"""IdSet: a compact set of non-negative integers, such as the ids of observed episodes."""

from typing import Any, Final

import numpy as np

from belated.check import check_range

_ID_CHUNK_BITS: Final = 4096


class IdSet:
    """Set of non-negative integers to which integers can be added, stored as a bitmap in chunks.

    A range of consecutive integers takes about one bit for each integer.

    >>> ids = IdSet()
    >>> ids.add(7)
    >>> 7 in ids, 8 in ids, len(ids)
    (True, False, 1)
    """

    def __init__(self) -> None:
        self._chunks: dict[int, int] = {}
        self._size = 0

    def __contains__(self, id: int) -> bool:
        chunk, bit = divmod(id, _ID_CHUNK_BITS)
        return bool(self._chunks.get(chunk, 0) >> bit & 1)

    def __len__(self) -> int:
        return self._size

    def add(self, id: int) -> None:
        """Add `id`, which must not be in the set."""
        chunk, bit = divmod(id, _ID_CHUNK_BITS)
        self._chunks[chunk] = self._chunks.get(chunk, 0) | 1 << bit
        self._size += 1

    def snapshot(self) -> dict[str, Any]:
        """Return the set as a dict of arrays, for `restore`."""
        size = _ID_CHUNK_BITS // 8
        bits = b"".join(word.to_bytes(size, "little") for word in self._chunks.values())
        return {
            "chunks": np.array(list(self._chunks), np.int64),
            "bits": np.frombuffer(bits, np.uint8).reshape(-1, size).copy(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "IdSet":
        """Return the set stored in `state`, which is a result of `snapshot`.

        Raises ValueError if the arrays in `state` have a wrong type, shape or range.
        """
        ids = cls()
        chunks, bits = state["chunks"], state["bits"]
        if (chunks.dtype, bits.dtype) != (np.int64, np.uint8):
            raise ValueError(f"ids must be int64 and uint8, got {chunks.dtype} and {bits.dtype}.")
        if bits.shape != (chunks.size, _ID_CHUNK_BITS // 8) or len(set(chunks.tolist())) < len(
            bits
        ):
            raise ValueError("ids must have one row of bits for each chunk, and each chunk once.")
        check_range("chunks of ids", chunks, 0, 2**63 // _ID_CHUNK_BITS)
        for chunk, row in zip(chunks, bits, strict=True):
            word = int.from_bytes(row.tobytes(), "little")
            ids._chunks[int(chunk)] = word
            ids._size += word.bit_count()
        return ids
