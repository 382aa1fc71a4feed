"""Backups, the central functions of base algorithms, and functions for writing backups.

A backup computes the optimistic value of one (step, state, action):

    backup(constants, stage, row) -> Q_h(s, a)

`constants` are the numerical constants of the base, fixed before the run. `stage` holds the values
and visit counts of step h + 1. `row` holds the observations of (h, s, a). A function decorated with
`@backup` is compiled with numba. A plain function runs as Python, and only in the reference loop.

>>> import math
>>> @backup
... def my_backup(constants, stage, row):
...     if row.n == 0:
...         return unseen(stage, row)
...     return clipped(stage, row, mean(stage, row), constants[0] / math.sqrt(row.n))
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from belated.compiled import JIT, compile_callback, identity, inlined, uncached, view

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


CALL_FIELD_TYPES: Final[dict[Any, Any]] = {
    int: types.int64,
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

Function = Callable[[NDArray[np.float64], Stage, Row], float]
Batch = Callable[[BackupCall], int]


@dataclass(frozen=True)
class Backup:
    """Backup function, with a loop that calls it for several rows."""

    function: Function
    compiled: bool  # False for a plain Python function

    def __call__(self, constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
        """Return Q_h(s, a) of `row`, computed from `constants` and the values in `stage`."""
        return self.function(constants, stage, row)

    @cached_property
    def batch(self) -> Batch:
        """Function that applies this backup to all rows of a `BackupCall`; see `back_up_rows`.

        If the backup is compiled, this is a function pointer. Its type is the same for every base,
        so that the planner is compiled only once.
        """
        if not self.compiled:
            names = {"back_up_row": self.function, "view": identity}
            return specialise(back_up_rows, self.function, names)
        loop = specialise(back_up_rows, self.function, {"back_up_row": uncached(self.function)})
        try:
            pointer: Batch = compile_callback(loop, SIGNATURE)
        except NumbaError as error:
            raise TypeError(
                f"The backup {self.function.__name__} does not compile: "
                f"{describe_error(error)}. A backup computes with numbers and creates no arrays or "
                "objects. Without @bl.backup it runs as plain Python."
            ) from error
        return pointer


def backup(function: Function) -> Backup:
    """Return a `Backup` that compiles `function` when it is first used."""
    return Backup(function, compiled=JIT)


def as_backup(function: Backup | Function) -> Backup:
    """Return `function` as a `Backup`; a plain function is wrapped and runs as Python."""
    return function if isinstance(function, Backup) else Backup(function, compiled=False)


def describe_error(error: NumbaError) -> str:
    """Return the cause of a compilation `error` in one line, with the source line if known."""
    lines = [line.strip() for line in str(error).splitlines()]
    # the first line that is not about the compiler itself
    cause = next((line for line in lines if line and not line.startswith("Failed in")), "unknown")
    where = re.search(r'File ".*", (line \d+)', str(error))
    return cause.rstrip(":.") + (f" ({where[1]})" if where else "")


def specialise(
    template: Callable[..., int], function: Callable[..., Any], names: dict[str, Any]
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

    Returns
    -------
    FunctionType
        The copy.
    """
    name = f"{function.__name__}_{template.__name__}"
    code = template.__code__.replace(
        co_name=name,
        co_filename=function.__code__.co_filename,
        co_firstlineno=function.__code__.co_firstlineno,
    )
    copy = FunctionType(code, {**template.__globals__, **names}, name)
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{template.__name__}"
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


@inlined
def cap(stage: Stage) -> float:
    """Return H' + 1, the largest possible sum of rewards from the step of `stage` on."""
    return float(stage.horizon - stage.h)


@inlined
def rest(stage: Stage) -> float:
    """Return H' = H - h, the largest possible sum of rewards after the step of `stage`."""
    return float(stage.horizon - stage.h - 1)


@inlined
def mean(stage: Stage, row: Row) -> float:
    """Return <P^, V~_{h+1}>, the mean next value of `row`, which must have observations.

    `stage` holds V~_{h+1}.
    """
    total = 0.0
    for j in range(row.lo, row.hi):
        total += row.m[j] * stage.v[row.succ[j]]
    return total / row.n


@inlined
def squares(stage: Stage, row: Row, centre: float) -> float:
    """Return N' Var_{P^}(V~_{h+1}), the sum of squared deviations of the next value.

    For a constant c, sqrt(c Var / N') can then be computed as sqrt(c squares) / N', with one
    division instead of two.

    Parameters
    ----------
    stage : Stage
        Values of the next step.
    row : Row
        Observations, at least one.
    centre : float
        Mean of the next value, `mean(stage, row)`.

    Returns
    -------
    float
        Sum of the squared deviations from the mean.
    """
    total = 0.0
    for j in range(row.lo, row.hi):
        gap = stage.v[row.succ[j]] - centre
        total += row.m[j] * (gap * gap)
    return total


@inlined
def variance(stage: Stage, row: Row, centre: float) -> float:
    """Return Var_{P^}(V~_{h+1}), the variance of the next value.

    Parameters
    ----------
    stage : Stage
        Values of the next step.
    row : Row
        Observations, at least one.
    centre : float
        Mean of the next value, `mean(stage, row)`.

    Returns
    -------
    float
        Variance under the empirical transition probabilities P^.
    """
    return squares(stage, row, centre) / row.n


@inlined
def clipped(stage: Stage, row: Row, centre: float, beta: float) -> float:
    """Return Q = min(H' + 1, R + <P^, V> + min(H', beta)) (Eq. 4).

    Parameters
    ----------
    stage : Stage
        Values of the next step.
    row : Row
        Observations and reward R.
    centre : float
        Mean of the next value, <P^, V>.
    beta : float
        Bonus.

    Returns
    -------
    float
        Optimistic value of the row.
    """
    return min(cap(stage), row.reward + centre + min(rest(stage), beta))


@inlined
def unseen(stage: Stage, row: Row) -> float:
    """Return Q = min(H' + 1, R + H'), the value of a `row` without observations.

    `stage` holds the step and the horizon.
    """
    return min(cap(stage), row.reward + rest(stage))


@inlined
def anywhere(stage: Stage, row: Row) -> float:
    """Return Q = min(H' + 1, R + max V), the value of `row` if it led to the best next state.

    `stage` holds the next values V.
    """
    return min(cap(stage), row.reward + stage.top)
