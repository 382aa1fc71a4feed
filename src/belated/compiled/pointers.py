"""Pointers to records, which are cheaper to pass to a kernel than tuples of many arrays."""

from typing import Any

import numba.core.cgutils
from numba.extending import intrinsic

from belated.compiled.bind import PLAIN_FORMS
from belated.compiled.decorators import JIT

# numba is typed in part; these parts are not, or not as they are used here
cgutils: Any = numba.core.cgutils
types: Any = numba.types


def _store(context: Any, builder: Any, kind: Any, value: Any, pointer: Any) -> None:
    """Store a record, field by field, which the compiler handles better than the whole tuple."""
    for i, field in enumerate(kind.types):
        item, at = builder.extract_value(value, i), cgutils.gep_inbounds(builder, pointer, 0, i)
        if isinstance(field, types.BaseTuple):
            _store(context, builder, field, item, at)
        else:
            context.pack_value(builder, field, item, at)


def _load(context: Any, builder: Any, kind: Any, pointer: Any) -> Any:
    """Return the record that `_store` has stored; the compiler drops fields that are not read."""
    fields = []
    for i, field in enumerate(kind.types):
        at = cgutils.gep_inbounds(builder, pointer, 0, i)
        is_record = isinstance(field, types.BaseTuple)
        load = _load if is_record else _unpack
        fields.append(load(context, builder, field, at))
    return context.make_tuple(builder, kind, fields)


def _unpack(context: Any, builder: Any, kind: Any, pointer: Any) -> Any:
    return context.unpack_value(builder, kind, pointer)


def _reference(context: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = cgutils.alloca_once(builder, context.get_data_type(record))
        _store(context, builder, record, arguments[0], pointer)
        return pointer

    return types.CPointer(record)(record), generate


def _dereference(context: Any, pointer: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(context, builder, pointer.dtype, arguments[0])

    return pointer.dtype(pointer), generate


def _identity(record: Any) -> Any:
    """Return `record`: plain Python passes records by reference anyway."""
    return record


reference: Any = intrinsic(_reference) if JIT else _identity
"""`reference(record)` stores a named tuple on the stack and returns a pointer to it.

The pointer is valid until the caller of `reference` returns, or calls `reference` again at the same
place."""

dereference: Any = intrinsic(_dereference) if JIT else _identity
"""`dereference(pointer)` returns the named tuple to which `pointer` points."""

if JIT:
    PLAIN_FORMS |= {reference: _identity, dereference: _identity}
