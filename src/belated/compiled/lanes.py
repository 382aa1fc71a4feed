"""Vectors of eight numbers, one in each lane, that a kernel processes with one instruction.

The compiler vectorises simple loops by itself, but not a sum whose terms must be added in order,
since each addition waits for the one before it. With lanes, a kernel computes such sums of eight
rows at the same time. Every lane is rounded as a single number is. In plain Python, lanes are
arrays of eight numbers.

Lanes support +, -, * and /. The comparisons <, >= and their combination with & give conditions, one
for each lane, which `select` takes.
"""

import operator
from collections.abc import Callable
from typing import Any, Final

import numba
import numba.core.cgutils
import numba.core.typing.templates
import numba.extending
import numpy as np
from numba.extending import intrinsic, lower_builtin, register_model

from belated.compiled.plain import JIT

# numba is typed in part; these parts are not, or not as they are used here
cgutils: Any = numba.core.cgutils
ir: Any = cgutils.ir
models: Any = numba.extending.models
templates: Any = numba.core.typing.templates
types: Any = numba.types

LANES: Final = 8
"""Number of lanes. Processors with shorter vectors need several instructions for an operation."""


class LanesType(types.Type):  # type: ignore[misc]
    """Type of eight numbers or of eight conditions."""

    def __init__(self, name: str, item: Any) -> None:
        super().__init__(name=name)
        self.vector = ir.VectorType(item, LANES)


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """Representation of lanes in LLVM: a vector."""

    def __init__(self, manager: Any, lanes: LanesType) -> None:
        super().__init__(manager, lanes, lanes.vector)


NUMBERS: Final = LanesType("Lanes", ir.DoubleType())
CONDITIONS: Final = LanesType("LaneConditions", ir.IntType(1))


def _define(symbol: Any, item: LanesType, result: LanesType, build: Callable[..., Any]) -> None:
    """Define the operator `symbol` for two lanes of type `item`; `build` creates its LLVM code."""

    class Template(templates.ConcreteTemplate):  # type: ignore[misc]
        cases = (templates.signature(result, item, item),)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    templates.infer_global(symbol)(Template)
    lower_builtin(symbol, item, item)(generate)


_define(operator.add, NUMBERS, NUMBERS, ir.IRBuilder.fadd)
_define(operator.sub, NUMBERS, NUMBERS, ir.IRBuilder.fsub)
_define(operator.mul, NUMBERS, NUMBERS, ir.IRBuilder.fmul)
_define(operator.truediv, NUMBERS, NUMBERS, ir.IRBuilder.fdiv)
_define(operator.lt, NUMBERS, CONDITIONS, lambda builder, x, y: builder.fcmp_ordered("<", x, y))
_define(operator.ge, NUMBERS, CONDITIONS, lambda builder, x, y: builder.fcmp_ordered(">=", x, y))
_define(operator.and_, CONDITIONS, CONDITIONS, ir.IRBuilder.and_)


def _broadcast(context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        undefined = ir.Constant(NUMBERS.vector, ir.Undefined)
        first = builder.insert_element(undefined, arguments[0], ir.IntType(32)(0))
        positions = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, undefined, positions)

    return NUMBERS(types.float64), generate


def _at(builder: Any, address: Any, first: Any) -> Any:
    """Return the LLVM pointer to the lanes that begin at position `first` of an array."""
    return builder.bitcast(builder.gep(address, [first]), NUMBERS.vector.as_pointer())


def _load_lanes(context: Any, address: Any, first: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_at(builder, *arguments), align=8)

    return NUMBERS(address, types.int64), generate


def _read_lanes(array: Any, first: int) -> Any:
    return np.array(array[first : first + LANES])


def _store_lanes(context: Any, address: Any, first: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _at(builder, *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(address, types.int64, NUMBERS), generate


def _write_lanes(array: Any, first: int, lanes: Any) -> None:
    array[first : first + LANES] = lanes


def _select(context: Any, condition: Any, x: Any, y: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return NUMBERS(CONDITIONS, NUMBERS, NUMBERS), generate


def _min_lanes(context: Any, x: Any, y: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y = arguments
        return builder.select(builder.fcmp_ordered("<", y, x), y, x)

    return NUMBERS(NUMBERS, NUMBERS), generate


def _max_lanes(context: Any, x: Any, y: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y = arguments
        return builder.select(builder.fcmp_ordered("<", x, y), y, x)

    return NUMBERS(NUMBERS, NUMBERS), generate


def _sqrt_lanes(context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(NUMBERS.vector, [NUMBERS.vector])
        root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return builder.call(root, arguments)

    return NUMBERS(NUMBERS), generate


broadcast: Any = intrinsic(_broadcast) if JIT else lambda number: np.full(LANES, number)
"""`broadcast(number)` returns lanes that all hold `number`, a float."""

load_lanes: Any = intrinsic(_load_lanes) if JIT else _read_lanes
"""`load_lanes(address, first)` returns `LANES` numbers of an array of floats, from position `first`
on."""

store_lanes: Any = intrinsic(_store_lanes) if JIT else _write_lanes
"""`store_lanes(address, first, lanes)` stores `lanes` where `load_lanes` would read them."""

select: Any = intrinsic(_select) if JIT else np.where
"""`select(condition, x, y)` returns x in the lanes in which `condition` holds, y in the others."""

min_lanes: Any = intrinsic(_min_lanes) if JIT else lambda x, y: np.where(y < x, y, x)
"""`min_lanes(x, y)` returns min(x, y) in each lane."""

max_lanes: Any = intrinsic(_max_lanes) if JIT else lambda x, y: np.where(x < y, y, x)
"""`max_lanes(x, y)` returns max(x, y) in each lane."""

sqrt_lanes: Any = intrinsic(_sqrt_lanes) if JIT else np.sqrt
"""`sqrt_lanes(x)` returns the square root in each lane; NaN where x is negative."""
