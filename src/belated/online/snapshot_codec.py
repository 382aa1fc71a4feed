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

A state must not contain this key."""

TREE: Final = "tree"
"""Name of the archive entry with the JSON text of a state; the other entries are its arrays."""


def encode_state(state: Any) -> bytes:
    """Return `state` encoded as bytes: a compressed archive in the format of NumPy's npz files.

    The archive contains the arrays, and the rest of the state as JSON. Raises TypeError if `state`
    contains an object of a type that is not listed in the module docstring.
    """
    return _archive(state, np.savez_compressed)


def decode_state(data: bytes) -> Any:
    """Return the state that was encoded as `data`; raise ValueError if `data` cannot be decoded."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:

            def insert(part: dict[str, Any]) -> Any:
                return arrays[str(part[ARRAY_KEY])] if part.keys() == {ARRAY_KEY} else part

            return json.loads(arrays[TREE].tobytes(), object_hook=insert)
    except Exception as error:  # np.load raises a dozen types
        raise ValueError(f"These {len(data)} bytes are not an encoded state: {error}.") from None


def digest_state(state: Any) -> str:
    """Return the SHA-256 digest of `state`, which does not depend on its compression."""
    return sha256(_archive(state, np.savez)).hexdigest()


def _archive(state: Any, save: Callable[..., None]) -> bytes:
    arrays: dict[str, NDArray[Any]] = {}

    def extract(part: object) -> dict[str, int]:
        if not isinstance(part, np.ndarray):
            raise TypeError(
                f"A part must be a number, text, list, dict, array or None, got {part!r}."
            )
        arrays[str(len(arrays))] = part
        return {ARRAY_KEY: len(arrays) - 1}

    # with sorted keys, equal states have equal bytes
    text = json.dumps(state, default=extract, sort_keys=True)
    file = io.BytesIO()
    save(file, allow_pickle=False, **{TREE: np.frombuffer(text.encode(), np.uint8)}, **arrays)
    return file.getvalue()
