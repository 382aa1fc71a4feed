"""Compilation with numba: decorators for kernels, and a disk cache that tracks callees.

Kernels are compiled functions that allocate no memory: they only read and write arrays that are
passed to them. Their code then needs no reference counting, which would take several times as long
as the arithmetic.
"""

from belated.compiled.bits import count_bits, lowest_bit
from belated.compiled.decorators import compile_callback, compiled, inlined, kernel, uncached
from belated.compiled.lanes import (
    LANES,
    broadcast,
    load_lanes,
    max_lanes,
    min_lanes,
    select,
    sqrt_lanes,
    store_lanes,
)
from belated.compiled.plain import JIT, identity, interpreted
from belated.compiled.pointers import (
    address,
    dereference,
    gather_tuple,
    load_tuple,
    reference,
    store_output,
    view,
)
from belated.compiled.sources import digest_sources

__all__ = [
    "JIT",
    "LANES",
    "address",
    "broadcast",
    "compile_callback",
    "compiled",
    "count_bits",
    "dereference",
    "digest_sources",
    "gather_tuple",
    "identity",
    "inlined",
    "interpreted",
    "kernel",
    "load_lanes",
    "load_tuple",
    "lowest_bit",
    "max_lanes",
    "min_lanes",
    "reference",
    "select",
    "sqrt_lanes",
    "store_lanes",
    "store_output",
    "uncached",
    "view",
]
