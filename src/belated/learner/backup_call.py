"""Calls of a compiled backup for several rows of one stage, and the loops that execute them.

`back_up_rows` computes the listed rows one after another. `back_up_stage` computes all rows of a
stage at once, for backups that are declared elementwise: the values of the successors are gathered
first, so that the compiler can process several rows with one instruction. The results are
bit-identical.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from belated.compiled import load_tuple, view

types: Any = numba.types


class Stage(NamedTuple):
    """Inputs of a backup at step h that are common to all rows: values and visits of step h + 1."""

    h: int  # this step, 0 .. horizon - 1
    horizon: int
    v: NDArray[np.float64]  # V~_{h+1}(y); all zero after the last step
    visits: NDArray[np.int64]  # N'_{h+1}(y); all zero after the last step
    top: float  # largest v; needs reads="best"
    low: float  # smallest v; needs reads="extremes"
    order: NDArray[np.int32]  # states by v, largest first; needs reads="order"
    seed: np.uint64 = np.uint64(0)  # seed of the learner, for random numbers
    plan: int = 0  # number of the plan, part of the key of random numbers


class Row(NamedTuple):
    """Observations of one (h, s, a).

    The observed successors are the states `succ[lo:hi]`, in increasing order. State `succ[j]` has
    been observed `m[j]` times.
    """

    s: int
    a: int
    n: int  # N'(h, s, a)
    reward: float  # R_h(s, a)
    lo: int
    hi: int
    succ: NDArray[np.int32]
    m: NDArray[np.int64]
    number: int = 0  # index of the row in the counts


class BackupCall(NamedTuple):
    """Arguments of one call of a compiled backup, for several rows of one stage.

    This class is the only definition of the calling convention: `CALL_TYPE` is derived from its
    fields, `belated.learner.planning.back_up` sets them, and `back_up_rows` reads them. Arrays are
    passed as pointers to their data.
    """

    constants: NDArray[np.float64]
    constants_size: int
    h: int
    horizon: int
    states: int
    actions: int
    v: NDArray[np.float64]  # (states) of step h + 1
    visits: NDArray[np.int64]  # (states) of step h + 1
    top: float
    low: float
    order: NDArray[np.int32]  # (states) of step h + 1
    seed: np.uint64
    plan: int
    n: NDArray[np.int64]  # the arrays of Counts
    start: NDArray[np.int64]
    size: NDArray[np.int32]
    succ: NDArray[np.int32]
    m: NDArray[np.int64]
    rewards: NDArray[np.float64]  # (states * actions) of step h
    first: int  # index in the counts of the first row of the stage
    rows: NDArray[np.int32]  # rows to compute, s * A + a
    row_count: int  # number of rows to compute
    out: NDArray[np.float64]  # (row_count) receives Q of each row
    # For back_up_stage only; see PackedCounts:
    width: int  # number of successors for which each row has space; 0 selects back_up_rows
    packed_succ: NDArray[np.int32]  # (width, states * actions) successors
    packed_m: NDArray[np.int64]  # (width, states * actions) their counts
    next_v: NDArray[np.float64]  # (width, states * actions) receives their values
    next_visits: NDArray[np.int64]  # (width, states * actions) receives their visits
    unseen: int  # number of rows of the stage without observations
    reads_visits: bool  # whether the backup reads visits


CALL_FIELD_TYPES: Final[dict[Any, Any]] = {
    int: types.int64,
    bool: types.boolean,
    float: types.float64,
    np.uint64: types.uint64,
    NDArray[np.float64]: types.CPointer(types.float64),
    NDArray[np.int64]: types.CPointer(types.int64),
    NDArray[np.int32]: types.CPointer(types.int32),
}
CALL_TYPE: Final = types.NamedTuple(
    [CALL_FIELD_TYPES[kind] for kind in BackupCall.__annotations__.values()], BackupCall
)
SIGNATURE: Final = types.int64(CALL_TYPE)


def specialise(
    template: Callable[..., int],
    function: Callable[..., Any],
    names: dict[str, Any],
    suffix: str = "",
) -> FunctionType:
    """Return a copy of a function with replaced globals and the source file of another function.

    Because the copy refers to the source file of `function`, its compiled code is cached in a file
    of its own, and that cache becomes stale when the source file changes.

    Parameters
    ----------
    template : callable
        Function to copy, for example `back_up_rows`.
    function : callable
        Function of a user, from which the copy takes its source file and the start of its name.
    names : dict
        Names of globals, for example `back_up_row`, and the objects that replace them in the copy.
    suffix : str
        End of the name of the copy; copies with different code must have different names.

    Returns
    -------
    FunctionType
        The copy.
    """
    name = f"{function.__name__}_{template.__name__}{suffix}"
    code = template.__code__.replace(
        co_name=name,
        co_filename=function.__code__.co_filename,
        co_firstlineno=function.__code__.co_firstlineno,
    )
    copy = FunctionType(code, {**template.__globals__, **names}, name)
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{template.__name__}{suffix}"
    return copy


def back_up_row(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Raise TypeError: this function is a placeholder that `specialise` replaces by a backup."""
    raise TypeError("back_up_rows must not be called directly; use the function from specialise.")


def back_up_rows(call: BackupCall) -> int:
    """Store Q_h(s, a) of the rows listed in `call` in `call.out`, and return their number."""
    constants = view(call.constants, call.constants_size)
    stage = Stage(
        call.h,
        call.horizon,
        view(call.v, call.states),
        view(call.visits, call.states),
        call.top,
        call.low,
        view(call.order, call.states),
        call.seed,
        call.plan,
    )
    succ, m = view(call.succ, 1), view(call.m, 1)  # each row has its limits lo and hi
    for i in range(call.row_count):
        at = int(call.rows[i])
        j = call.first + at
        s = at // call.actions
        lo = call.start[j]
        hi = lo + call.size[j]
        row = Row(s, at - s * call.actions, call.n[j], call.rewards[at], lo, hi, succ, m, j)
        call.out[i] = back_up_row(constants, stage, row)
    return call.row_count


WIDTH: Final = 2
"""Number of successors per row in `back_up_stage`; `specialise` replaces it."""

CONSTANTS: Final = 1
"""Number of constants of the backup in `back_up_stage`; `specialise` replaces it."""

POSITIONS: Final[Any] = (0, 1)
"""The numbers 0 .. WIDTH - 1; `specialise` replaces it."""


def back_up_stage(call: BackupCall) -> int:
    """Store Q_h(s, a) of all rows of a stage in `call.out`, and return their number.

    The body of the main loop has no branches and no loops of unknown length, so that the compiler
    vectorises it. `WIDTH` successors are read for each row; unused ones have count 0 and add 0.0 to
    a sum, which changes no bit. Rows without observations are computed in a second loop.
    """
    count = call.row_count
    for i in range(WIDTH * count):
        call.next_v[i] = call.v[call.packed_succ[i]]
    if call.reads_visits:
        for i in range(WIDTH * count):
            call.next_visits[i] = call.visits[call.packed_succ[i]]
    constants = load_tuple(call.constants, 0, 1, CONSTANTS)
    order = view(call.order, call.states)
    for i in range(count):
        stage = Stage(
            call.h,
            call.horizon,
            load_tuple(call.next_v, i, count, WIDTH),
            load_tuple(call.next_visits, i, count, WIDTH),
            call.top,
            call.low,
            order,
            call.seed,
            call.plan,
        )
        m = load_tuple(call.packed_m, i, count, WIDTH)
        n = max(call.n[call.first + i], 1)  # known to be positive: removes the other branch
        s = i // call.actions
        row = Row(
            s, i - s * call.actions, n, call.rewards[i], 0, WIDTH, POSITIONS, m, call.first + i
        )
        call.out[i] = back_up_row(constants, stage, row)
    if call.unseen == 0:
        return count
    whole = Stage(
        call.h,
        call.horizon,
        view(call.v, call.states),
        view(call.visits, call.states),
        call.top,
        call.low,
        order,
        call.seed,
        call.plan,
    )
    succ, observed = view(call.succ, 1), view(call.m, 1)
    for i in range(count):
        if call.n[call.first + i] == 0:
            s = i // call.actions
            a = i - s * call.actions
            row = Row(s, a, 0, call.rewards[i], 0, 0, succ, observed, call.first + i)
            call.out[i] = back_up_row(constants, whole, row)
    return count


back_up_stage_2 = back_up_stage_4 = back_up_stage
"""`back_up_stage` with the `WIDTH` in its name; `specialise` replaces it."""


def back_up_rows_or_stage(call: BackupCall) -> int:
    """Execute `call` with the loop that `call.width` selects, and return the number of rows."""
    if call.width == 2:
        return back_up_stage_2(call)
    if call.width == 4:
        return back_up_stage_4(call)
    return back_up_rows(call)
