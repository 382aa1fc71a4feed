"""Compilation with numba: decorators for kernels, templates, and a disk cache.

Kernels are compiled functions that allocate no memory: they only read and write arrays that are
passed to them. Their code then needs no reference counting, which would take several times as long
as the arithmetic.
"""

from belated.compiled.bind import PLAIN_FORMS, bind, digest_of, interpret, translate
from belated.compiled.decorators import (
    JIT,
    as_plain,
    compile_callback,
    inlined,
    is_ready,
    kernel,
)
from belated.compiled.pointers import dereference, reference

__all__ = [
    "JIT",
    "PLAIN_FORMS",
    "as_plain",
    "bind",
    "compile_callback",
    "dereference",
    "digest_of",
    "inlined",
    "interpret",
    "is_ready",
    "kernel",
    "reference",
    "translate",
]
