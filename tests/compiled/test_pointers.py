"""Records are passed to kernels by reference."""

from typing import NamedTuple

import numpy as np

from belated.compiled import dereference, kernel, reference
from belated.episode import Floats


class Inner(NamedTuple):
    flag: bool
    values: Floats


class Record(NamedTuple):
    number: int
    inner: Inner
    factor: float


@kernel
def multiply(pointer: Record) -> float:
    record = dereference(pointer)
    total = 0.0
    for i in range(record.inner.values.size):
        record.inner.values[i] *= record.factor
        total += record.inner.values[i]
    return total if record.inner.flag else -record.number * 1.0


@kernel
def multiply_twice(number: int, flag: bool, values: Floats, factor: float) -> float:
    total = 0.0
    for i in range(2):
        total += multiply(reference(Record(number, Inner(flag, values), factor + i)))
    return total


def test_a_kernel_reads_all_fields_of_a_record_and_changes_its_arrays() -> None:
    values = np.array([1.0, 2.0])
    assert multiply_twice(7, True, values, 2.0) == 6.0 + 18.0
    assert values.tolist() == [6.0, 12.0]
    assert multiply_twice(7, False, values, 1.0) == -14.0
