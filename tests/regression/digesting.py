"""Digests of arrays and numbers, and a source of numbers that never changes."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

LENGTH = 16
"""Hexadecimal digits of a digest that are kept."""


def digest(value: Any) -> str:
    """Return a digest of arrays, numbers, texts and nestings of them, exact to the bit."""
    return hashlib.sha256(b"".join(_bytes(value))).hexdigest()[:LENGTH]


def _bytes(value: Any) -> Iterable[bytes]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield b"{"
        for key in sorted(value):
            yield f"{key}:".encode()
            yield from _bytes(value[key])
        yield b"}"
    elif isinstance(value, list | tuple):
        yield b"["
        for one in value:
            yield from _bytes(one)
        yield b"]"
    else:
        yield f"{plain(value)!r};".encode()


def plain(value: Any) -> Any:
    """Return a scalar as JSON holds it without loss; infinite numbers become texts."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} has no digest.")


def differences(recorded: Any, found: Any, where: str = "") -> list[str]:
    """Return where two JSON values differ, with both values."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        return [
            line
            for key in sorted(recorded.keys() | found.keys())
            for line in differences(
                recorded.get(key, "(nothing)"), found.get(key, "(nothing)"), f"{where}/{key}"
            )
        ]
    if isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        pairs = zip(recorded, found, strict=True)
        return [
            line
            for i, (one, other) in enumerate(pairs)
            for line in differences(one, other, f"{where}[{i}]")
        ]
    # texts tell 1 from 1.0 and 0.0 from -0.0
    one, other = json.dumps(recorded), json.dumps(found)
    return [] if one == other else [f"{where or '/'} was {one} and is {other}"]


class Draws:
    """Whole numbers from a linear congruential generator, the same wherever it runs."""

    def __init__(self, seed: str) -> None:
        self._state = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")

    def below(self, n: int) -> int:
        """Return a number in 0 .. n - 1."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % n

    def table(self, *shape: int, below: int) -> Any:
        """Return an array of such numbers."""
        size = math.prod(shape)
        return np.array([self.below(below) for _ in range(size)], np.int64).reshape(shape)


def pick(values: Sequence[Any], *key: object) -> Any:
    """Return one of the values, chosen by a digest of the key."""
    found = hashlib.sha256(repr(key).encode()).digest()
    return values[int.from_bytes(found[:8], "big") % len(values)]
