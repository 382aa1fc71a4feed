"""Canonical JSON, in which equal values have the same text, and SHA-256 digests of texts."""

import hashlib
import json
from typing import Any, Final

SALT_BYTES: Final = 16
"""Length in bytes of the random salt of a digest.

The salt keeps the text from being guessed from its digest."""

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """Return `value` as ASCII JSON with sorted keys and without spaces.

    >>> canonical({"b": 1.0, "a": ["é", None]})
    '{"a":["\\\\u00e9",null],"b":1.0}'
    """
    return _ENCODER.encode(value)


def digest(text: str, salt: bytes = b"") -> str:
    """Return the SHA-256 of `salt` followed by `text`, in hexadecimal.

    >>> digest("null")[:8]
    '74234e98'
    """
    return hashlib.sha256(salt + text.encode()).hexdigest()


def to_json(value: Any) -> str:
    """Return `value` as JSON; an object that JSON cannot represent is replaced by its `repr`."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(value))
