"""Canonical JSON: one text for one meaning, and its digest."""

import hashlib
import json
from typing import Any, Final

SALT_BYTES: Final = 16
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """`value` as JSON in ASCII, with keys in order and no blanks.

    >>> canonical({"b": 1.0, "a": ["é", None]})
    '{"a":["\\\\u00e9",null],"b":1.0}'
    """
    return _ENCODER.encode(value)


def digest(text: str, salt: bytes = b"") -> str:
    """The SHA-256 of a text; salted, it tells nothing of a text that could be guessed.

    >>> digest("null")[:8]
    '74234e98'
    """
    return hashlib.sha256(salt + text.encode()).hexdigest()


def legible(value: Any) -> str:
    """Any value as JSON, for the record only: what JSON cannot hold is described."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(value))
