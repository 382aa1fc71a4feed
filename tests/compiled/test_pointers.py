"""Records that are passed by pointer."""

from typing import NamedTuple

import numpy as np
import pytest

from belated.compiled import dereference, interpret, kernel, reference
from belated.episode import Floats, Ints

pytestmark = pytest.mark.plain


class Inner(NamedTuple):
    """Numbers and an array of a record."""

    seed: np.uint64
    numbers: Ints
    is_set: bool


class Outer(NamedTuple):
    """A record with records of two kinds."""

    factor: float
    inner: Inner
    pairs: tuple[Inner, tuple[int, float]]
    values: Floats


@kernel
def read(pointer, i):
    record = dereference(pointer)
    last = record.pairs[0]
    record.values[i] += record.factor * record.inner.numbers[i]
    if last.is_set and not record.inner.is_set:
        record.values[i] += last.numbers.size + record.pairs[1][1]
    return record.inner.seed


@kernel
def sum_seeds(record, other, count):
    total = np.uint64(0)
    for i in range(count):
        total += read(reference(record if i % 2 == 0 else other), i)
    return total


def make(seed: int) -> Outer:
    inner = Inner(np.uint64(seed), np.arange(4) * seed, False)
    return Outer(0.5, inner, (Inner(np.uint64(1), np.arange(3), True), (1, 0.25)), np.zeros(4))


def test_a_kernel_reads_and_changes_a_record_through_its_pointer() -> None:
    for function in (sum_seeds, interpret(sum_seeds)):
        one, other = make(2**40), make(3)
        assert function(one, other, 4) == 2 * (2**40 + 3)
        expected = [0.5 * i * (2**40 if i % 2 == 0 else 3) + 3.25 for i in range(4)]
        np.testing.assert_array_equal(one.values + other.values, expected)
        assert not one.values[1::2].any()
        assert not other.values[::2].any()
