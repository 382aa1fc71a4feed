"""Backups: the function at the heart of a base algorithm, and the shared pieces to write one with.

A backup computes the optimistic value of one (step, state, action):

    backup(constants, stage, row) -> Q_h(s, a)

`constants` are the numbers of the base, fixed before the run; `stage` describes step h + 1; `row`
holds the observations of (h, s, a). A function decorated with `@backup` runs compiled everywhere; a
plain function runs as Python in the reference loop.

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
    """Everything a backup at step h may read apart from its own row: the values of step h + 1."""

    h: int  # this step, 0 .. horizon - 1
    horizon: int
    v: NDArray[np.float64]  # V~_{h+1}(y); all zero after the last step
    visits: NDArray[np.int64]  # N'_{h+1}(y); all zero after the last step
    top: float  # largest v; needs reads="best"
    low: float  # smallest v; needs reads="extremes"
    order: NDArray[np.int32]  # states by v, largest first; needs reads="order"
    seed: np.uint64 = np.uint64(0)  # with `plan`, the address of random numbers
    plan: int = 0  # number of the plan


class Row(NamedTuple):
    """Observations of one (h, s, a).

    The successors are `succ[lo:hi]`, in increasing order, observed `m[lo:hi]` times each.
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

    The only definition of the calling convention: `CALL_TYPE` is derived from it, `back_up_rows`
    reads it by name, and `belated.learner.planning.back_up` fills it by name. Arrays are passed as
    addresses.
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
    """A backup function, and the loop over rows that planners call."""

    function: Function
    compiled: bool  # False for a plain Python function

    def __call__(self, constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
        """Return Q_h(s, a) of `row`, given the base's `constants` and the next `stage`."""
        return self.function(constants, stage, row)

    @cached_property
    def batch(self) -> Batch:
        """`back_up_rows` with this backup, as a function pointer if compiled.

        A pointer has the same type for every base, so that one compiled planner serves all.
        """
        if not self.compiled:
            return loop_over(self.function, {"back_up_row": self.function, "view": identity})
        loop = loop_over(self.function, {"back_up_row": uncached(self.function)})
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
    """Return `function` as a backup that is compiled when it is first used."""
    return Backup(function, compiled=JIT)


def as_backup(function: Backup | Function) -> Backup:
    """Return `function` as a backup; a plain function becomes one that runs as Python."""
    return function if isinstance(function, Backup) else Backup(function, compiled=False)


def describe_error(error: NumbaError) -> str:
    """Return the cause of a compilation `error` in one line, with its line number if known."""
    lines = [line.strip() for line in str(error).splitlines()]
    # the first line that is not about the compiler itself
    cause = next((line for line in lines if line and not line.startswith("Failed in")), "unknown")
    where = re.search(r'File ".*", (line \d+)', str(error))
    return cause.rstrip(":.") + (f" ({where[1]})" if where else "")


def loop_over(function: Function, names: dict[str, Any]) -> FunctionType:
    """Return a copy of `back_up_rows` with the globals `names`, named and placed like `function`.

    Compiled, the copy has a cache file of its own, which becomes stale with the function's file.
    """
    name = f"{function.__name__}_rows"
    code = back_up_rows.__code__.replace(
        co_name=name,
        co_filename=function.__code__.co_filename,
        co_firstlineno=function.__code__.co_firstlineno,
    )
    copy = FunctionType(code, {**globals(), **names}, name)
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_rows"
    return copy


def back_up_row(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Raise TypeError; `loop_over` replaces this name by a backup."""
    raise TypeError("back_up_rows needs a backup, see loop_over.")


def back_up_rows(call: BackupCall) -> int:
    """Store Q of every row of `call` in `call.out` and return the number of rows."""
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
    succ, m = view(call.succ, 1), view(call.m, 1)  # rows know their limits: no size is needed
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
    """Return the largest possible value at the step of `stage`: H - h + 1 in the paper's count."""
    return float(stage.horizon - stage.h)


@inlined
def rest(stage: Stage) -> float:
    """Return H' = H - h, the largest possible value after the step of `stage`."""
    return float(stage.horizon - stage.h - 1)


@inlined
def mean(stage: Stage, row: Row) -> float:
    """Return <P^, V~_{h+1}> of a `row` with observations, with the values of `stage`."""
    total = 0.0
    for j in range(row.lo, row.hi):
        total += row.m[j] * stage.v[row.succ[j]]
    return total / row.n


@inlined
def squares(stage: Stage, row: Row, centre: float) -> float:
    """Return N' Var_{P^}(V~_{h+1}) of a row with observations.

    With it, sqrt(c Var / N') is sqrt(c squares) / N', which needs one division.

    Parameters
    ----------
    stage : Stage
        Values of the next step.
    row : Row
        Observations.
    centre : float
        `mean(stage, row)`.

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
    """Return Var_{P^}(V~_{h+1}) of a `row` with observations in `stage`; `centre` is its mean."""
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
        <P^, V>.
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
    """Return Q = min(H' + 1, R + H') of a `row` without observations in `stage`."""
    return min(cap(stage), row.reward + rest(stage))


@inlined
def anywhere(stage: Stage, row: Row) -> float:
    """Return Q = min(H' + 1, R + max V) in `stage` of a `row` that may lead anywhere."""
    return min(cap(stage), row.reward + stage.top)
