"""Pointers to the data of arrays, which are cheaper to pass to a kernel than arrays."""

from typing import Any

import numba.core.cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from belated.compiled.plain import JIT, identity
from belated.compiled.sources import NAME

# numba is typed in part; these parts are not, or not as they are used here
cgutils: Any = numba.core.cgutils
types: Any = numba.types


def _address(context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


def _reference(context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = cgutils.alloca_once(builder, context.get_data_type(value))
        # one store for each field, which the compiler handles better than one for the whole tuple
        for i, field in enumerate(value.types):
            item = builder.extract_value(arguments[0], i)
            context.pack_value(builder, field, item, cgutils.gep_inbounds(builder, pointer, 0, i))
        return pointer

    return types.CPointer(value)(value), generate


def _dereference(context: Any, pointer: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.unpack_value(builder, pointer.dtype, arguments[0])

    return pointer.dtype(pointer), generate


def _view(context: Any, address: Any, size: Any) -> Any:
    array_type = types.Array(address.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = make_array(array_type)(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
        itemsize = context.get_constant(types.intp, item)
        populate_array(
            array,
            data=arguments[0],
            shape=cgutils.pack_array(builder, [arguments[1]]),
            strides=cgutils.pack_array(builder, [itemsize]),
            itemsize=itemsize,
            meminfo=None,
        )
        return array._getvalue()

    return array_type(address, types.int64), generate


def _load_tuple(context: Any, address: Any, first: Any, stride: Any, count: Any) -> Any:
    if not isinstance(count, types.Literal):
        return None
    size = count.literal_value
    tuple_type = types.UniTuple(address.dtype, size)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, at, step, _ = arguments
        values = []
        for _ in range(size):
            values.append(_load_input(builder, pointer, at))
            at = builder.add(at, step)
        return context.make_tuple(builder, tuple_type, values)

    return tuple_type(address, types.int64, types.int64, count), generate


def _read_tuple(array: Any, first: int, stride: int, count: int) -> Any:
    return tuple(array[first + i * stride] for i in range(count))


def _gather_tuple(
    context: Any, address: Any, origin: Any, indices: Any, first: Any, stride: Any, count: Any
) -> Any:
    if not isinstance(count, types.Literal):
        return None
    size = count.literal_value
    tuple_type = types.UniTuple(address.dtype, size)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, base, index_pointer, at, step, _ = arguments
        values = []
        for _ in range(size):
            index = builder.sext(_load_input(builder, index_pointer, at), base.type)
            values.append(_load_input(builder, pointer, builder.add(base, index)))
            at = builder.add(at, step)
        return context.make_tuple(builder, tuple_type, values)

    return tuple_type(address, types.int64, indices, types.int64, types.int64, count), generate


def _read_gathered(
    array: Any, origin: int, indices: Any, first: int, stride: int, count: int
) -> Any:
    return tuple(array[origin + indices[first + i * stride]] for i in range(count))


def _store_output(context: Any, address: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, at, number = arguments
        store = builder.store(number, builder.gep(pointer, [at]))
        store.set_metadata("noalias", _input_scope(builder))
        return context.get_dummy_value()

    return types.void(address, types.int64, address.dtype), generate


def _write_output(array: Any, index: int, value: Any) -> None:
    array[index] = value


def _load_input(builder: Any, pointer: Any, index: Any) -> Any:
    load = builder.load(builder.gep(pointer, [index]))
    load.set_metadata("alias.scope", _input_scope(builder))
    return load


def _input_scope(builder: Any) -> Any:
    """Return the LLVM metadata that mark all loads which no `store_output` can affect."""
    module = builder.module
    domain = module.add_metadata([NAME])
    return module.add_metadata([module.add_metadata([f"{NAME} inputs", domain])])


address: Any = intrinsic(_address) if JIT else identity
"""`address(array)` returns a pointer to the data of `array`.

A pointer is cheaper to pass to a function than an array."""

reference: Any = intrinsic(_reference) if JIT else identity
"""`reference(record)` stores a named tuple on the stack and returns a pointer to it.

A pointer is cheaper to pass to a function than a tuple of many fields. It is valid until the caller
of `reference` returns, or calls `reference` again at the same place."""

dereference: Any = intrinsic(_dereference) if JIT else identity
"""`dereference(pointer)` returns the named tuple to which `pointer` points."""

view: Any = intrinsic(_view) if JIT else identity
"""`view(address, size)` returns an array of `size` numbers whose data begins at `address`."""


load_tuple: Any = intrinsic(prefer_literal=True)(_load_tuple) if JIT else _read_tuple
"""`load_tuple(address, first, stride, count)` returns `count` numbers as a tuple.

They are read from `address`, at the positions first, first + stride, and so on. `count` must be
a constant at compile time."""

gather_tuple: Any = intrinsic(prefer_literal=True)(_gather_tuple) if JIT else _read_gathered
"""`gather_tuple(address, origin, indices, first, stride, count)` returns `count` numbers, a tuple.

They are read from `address`, at the positions origin + i for the integers i that
`load_tuple(indices, first, stride, count)` returns."""

store_output: Any = intrinsic(_store_output) if JIT else _write_output
"""`store_output(address, index, value)` stores `value` at position `index` of an array.

Neither `load_tuple` nor `gather_tuple` may read this position anywhere. The compiler then knows
that the loads of a loop do not depend on its stores, and vectorises it without a check."""
