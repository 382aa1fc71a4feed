"""Sets of numbers as the bits of an integer."""

import pytest

from belated.compiled import count_bits, kernel, lowest_bit


@kernel
def lowest(bits: int) -> int:
    return lowest_bit(bits)


@kernel
def count(bits: int) -> int:
    return count_bits(bits)


@pytest.mark.parametrize(
    ("bits", "numbers"),
    [(1, [0]), (0b1011000, [3, 4, 6]), (-(2**63), [63]), (-(2**62), [62, 63]), (-1, range(64))],
)
def test_bits_are_the_numbers_of_a_set(bits: int, numbers: list[int]) -> None:
    assert lowest(bits) == numbers[0]
    assert count(bits) == len(numbers)


def test_the_empty_set_has_no_numbers() -> None:
    assert count(0) == 0
