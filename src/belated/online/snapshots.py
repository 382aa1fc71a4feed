"""Packing: nested dicts and lists of numbers, texts and arrays as bytes, and back to the bit.

>>> state = {"counts": np.arange(3), "alpha": float("inf"), "open": [[7, None]]}
>>> unpack(pack(state))
{'alpha': inf, 'counts': array([0, 1, 2]), 'open': [[7, None]]}
"""

import io
import json
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ARRAY: Final = "$array"
"""The key that stands for an array; no other may begin with a dollar sign."""

TREE: Final = "tree"

Arrays = list[NDArray[Any]]


def pack(state: Any) -> bytes:
    """The bytes of a state: a zip file of arrays and the rest as JSON, fit for np.load."""
    arrays: Arrays = []
    text = json.dumps(_without_arrays(state, arrays))
    file = io.BytesIO()
    named = {str(number): array for number, array in enumerate(arrays)}
    tree = np.frombuffer(text.encode(), np.uint8)
    np.savez_compressed(file, allow_pickle=False, **{TREE: tree}, **named)
    return file.getvalue()


def unpack(data: bytes) -> Any:
    """The state that was packed; a ValueError if these bytes are of no state."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return _with_arrays(json.loads(arrays[TREE].tobytes()), arrays)
    except Exception as error:  # there are a dozen ways to be no zip file of arrays
        raise ValueError(f"These {len(data)} bytes are of no packed state: {error}.") from None


def digest(state: Any) -> str:
    """The SHA-256 of a state; the same for the same bits, however they were compressed."""
    arrays: Arrays = []
    total = sha256(json.dumps(_without_arrays(state, arrays), sort_keys=True).encode())
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _without_arrays(part: Any, arrays: Arrays) -> Any:
    if isinstance(part, np.ndarray):
        if part.dtype.hasobject:
            raise TypeError(f"An array has the dtype {part.dtype}; it must be of numbers.")
        arrays.append(part)
        return {ARRAY: len(arrays) - 1}
    if isinstance(part, dict):
        for key in part:
            if not isinstance(key, str) or key.startswith("$"):
                raise TypeError(f"A key is {key!r}; it must be a text that begins with no $.")
        return {key: _without_arrays(part[key], arrays) for key in sorted(part)}
    if isinstance(part, list):
        return [_without_arrays(value, arrays) for value in part]
    if part is None or type(part) in (bool, int, float, str):
        return part
    raise TypeError(f"A part is {part!r}; it must be a number, text, list, dict, array or None.")


def _with_arrays(part: Any, arrays: Any) -> Any:
    if isinstance(part, dict):
        if part.keys() == {ARRAY}:
            return arrays[str(part[ARRAY])]
        return {key: _with_arrays(value, arrays) for key, value in part.items()}
    return [_with_arrays(value, arrays) for value in part] if isinstance(part, list) else part
