"""Packing: the same bits, through bytes that hold no code."""

import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from belated.online.snapshot_codec import decode_state, digest_state, encode_state
from snapshots import same

numbers = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
arrays = hnp.arrays(
    st.sampled_from([np.int64, np.int32, np.uint8, np.float64, np.bool_, np.uint64]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
keys = st.text().filter(lambda key: not key.startswith("$"))
states = st.recursive(
    numbers | arrays,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(state=states)
def test_what_is_unpacked_is_what_was_packed_to_the_bit(state: Any) -> None:
    assert same(decode_state(encode_state(state)), state)


@given(state=states)
def test_a_digest_survives_packing(state: Any) -> None:
    assert digest_state(decode_state(encode_state(state))) == digest_state(state)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": np.arange(3)}, {"a": np.arange(3, dtype=np.int32)}),
        ({"a": np.zeros((2, 3))}, {"a": np.zeros((3, 2))}),
        ({"a": np.array([0.0])}, {"a": np.array([-0.0])}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": np.arange(2), "b": np.arange(3)}, {"b": np.arange(2), "a": np.arange(3)}),
    ],
)
def test_other_bits_have_another_digest(one: Any, other: Any) -> None:
    assert digest_state(one) != digest_state(other)


def test_the_same_state_has_the_same_bytes() -> None:
    assert encode_state({"a": np.arange(9), "b": math.inf}) == encode_state(
        {"b": math.inf, "a": np.arange(9)}
    )


def test_what_would_not_come_back_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^A part must be a number, text, .*, got .*3.*\.$"):
        encode_state({"a": np.int64(3)})


def garbled() -> bytes:
    data = bytearray(encode_state({"a": np.arange(1000)}))
    data[len(data) // 2] ^= 255
    return bytes(data)


def without_a_tree() -> bytes:
    file = io.BytesIO()
    np.savez(file, other=np.arange(2))
    return file.getvalue()


def with_code() -> bytes:
    file = io.BytesIO()
    np.savez(file, tree=np.array([{"a": 1}], object))
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        encode_state({"a": np.arange(1000)})[:-30],
        garbled(),
        without_a_tree(),
        with_code(),
    ],
)
def test_bytes_of_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=f"^These {len(data)} bytes are not an encoded state: "):
        decode_state(data)
