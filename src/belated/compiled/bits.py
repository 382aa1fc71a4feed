"""Sets of the numbers 0 .. 63 as the bits of an integer."""

from typing import Any

import numba
from numba.extending import intrinsic

from belated.compiled.plain import JIT

types: Any = numba.types


def _lowest_bit(context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.int64), generate


def _lowest_of(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _count_bits(context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _count_of(bits: int) -> int:
    return (bits & (2**64 - 1)).bit_count()


lowest_bit: Any = intrinsic(_lowest_bit) if JIT else _lowest_of
"""`lowest_bit(bits)` returns the smallest number in the set `bits`, which must not be empty."""

count_bits: Any = intrinsic(_count_bits) if JIT else _count_of
"""`count_bits(bits)` returns how many numbers are in the set `bits`."""
