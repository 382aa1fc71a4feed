"""Encoding of states as bytes, for snapshots that `belated.ledger.policies` stores.

A state consists of nested dicts and lists of numbers, texts, arrays, True, False and None.

>>> state = {"counts": np.arange(3), "alpha": float("inf"), "open": [[7, None]]}
>>> decode_state(encode_state(state))
{'alpha': inf, 'counts': array([0, 1, 2]), 'open': [[7, None]]}
"""

import io
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ARRAY_KEY: Final = "$array"
"""Key of the JSON object that replaces an array; its value is the index of the array.

Keys of a state must not begin with a dollar sign, so that they cannot be mistaken for it."""

TREE: Final = "tree"
"""Name of the archive entry with the JSON text of a state; the other entries are its arrays."""


def encode_state(state: Any) -> bytes:
    """Return `state` encoded as bytes: a compressed archive in the format of NumPy's npz files.

    The archive contains the arrays, and the rest of the state as JSON. Raises TypeError if `state`
    contains an object of a type that is not listed in the module docstring, or a key of a dict that
    is not a text or begins with a dollar sign.
    """
    return _archive(state, np.savez_compressed)


def decode_state(data: bytes) -> Any:
    """Return the state that was encoded as `data`; raise ValueError if `data` cannot be decoded."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return _insert_arrays(json.loads(arrays[TREE].tobytes()), arrays)
    except Exception as error:  # np.load raises a dozen types
        raise ValueError(f"These {len(data)} bytes are not an encoded state: {error}.") from None


def digest_state(state: Any) -> str:
    """Return the SHA-256 digest of `state`, which does not depend on its compression."""
    return sha256(_archive(state, np.savez)).hexdigest()


def _archive(state: Any, save: Callable[..., None]) -> bytes:
    arrays: list[NDArray[Any]] = []
    tree = np.frombuffer(json.dumps(_extract_arrays(state, arrays)).encode(), np.uint8)
    named = {str(number): array for number, array in enumerate(arrays)}
    file = io.BytesIO()
    save(file, allow_pickle=False, **{TREE: tree}, **named)
    return file.getvalue()


def _extract_arrays(part: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a copy of `part`, an element of a state, with references in place of arrays.

    The arrays are appended to `arrays`; a reference holds the index of its array in that list.
    """
    if isinstance(part, np.ndarray):
        if part.dtype.hasobject:
            raise TypeError(f"An array must be of numbers, got dtype {part.dtype}.")
        arrays.append(part)
        return {ARRAY_KEY: len(arrays) - 1}
    if isinstance(part, dict):
        for key in part:
            if not isinstance(key, str) or key.startswith("$"):
                raise TypeError(f"A key must be a text that does not begin with $, got {key!r}.")
        return {key: _extract_arrays(part[key], arrays) for key in sorted(part)}
    if isinstance(part, list):
        return [_extract_arrays(value, arrays) for value in part]
    if part is None or type(part) in (bool, int, float, str):
        return part
    raise TypeError(f"A part must be a number, text, list, dict, array or None, got {part!r}.")


def _insert_arrays(part: Any, arrays: Any) -> Any:
    if isinstance(part, dict):
        if part.keys() == {ARRAY_KEY}:
            return arrays[str(part[ARRAY_KEY])]
        return {key: _insert_arrays(value, arrays) for key, value in part.items()}
    return [_insert_arrays(value, arrays) for value in part] if isinstance(part, list) else part
