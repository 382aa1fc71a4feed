"""What a base algorithm is made of: one backup function, and the shared pieces to write it with.

A backup turns the data of one (step, state, action) into an optimistic value:

    backup(constants, stage, row) -> Q_h(s, a)

`constants` are the base's numbers, fixed before the run; `stage` is what step h + 1 is worth;
`row` is what has been observed of (h, s, a). Decorate it with `@backup` and it runs compiled
everywhere; leave it plain and it runs as Python in the reference loop.

>>> import math
>>> @backup
... def my_backup(constants, stage, row):
...     if row.n == 0:
...         return unseen(stage, row)
...     return clipped(stage, row, mean(stage, row), constants[0] / math.sqrt(row.n))
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cfunc
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from belated.compiled import JIT, NO_ALLOCATION, identity, inlined, uncached, view

types: Any = numba.types


class Stage(NamedTuple):
    """The next step, as seen from step h: everything a backup may read beside its own row."""

    h: int  # this step, 0 .. horizon - 1
    horizon: int
    v: NDArray[np.float64]  # V~_{h+1}(y); all zero after the last step
    visits: NDArray[np.int64]  # N'_{h+1}(y); all zero after the last step
    top: float  # the largest v; needs reads="best"
    low: float  # the smallest v; needs reads="extremes"
    order: NDArray[np.int32]  # states by v, largest first; needs reads="order"
    seed: np.uint64 = np.uint64(0)  # with `plan`, the address of what a plan draws
    plan: int = 0


class Row(NamedTuple):
    """What has been observed of one (h, s, a).

    The successors are `succ[lo:hi]`, in the order of their index, seen `m[lo:hi]` times each.
    """

    s: int
    a: int
    n: int  # N'(h, s, a)
    reward: float  # R_h(s, a)
    lo: int
    hi: int
    succ: NDArray[np.int32]
    m: NDArray[np.int64]
    number: int = 0  # of the row among all that are counted apart


Function = Callable[[NDArray[np.float64], Stage, Row], float]
Batch = Callable[..., int]


@dataclass(frozen=True)
class Backup:
    """A backup function, callable from Python, and the loop that planners call."""

    function: Function
    compiled: bool

    def __call__(self, constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
        return self.function(constants, stage, row)

    @cached_property
    def batch(self) -> Batch:
        """`each` with this backup inside; as a pointer, so that one planner serves every base."""
        if not self.compiled:
            return loop_over(self.function, {"one": self.function, "view": identity})
        loop = loop_over(self.function, {"one": uncached(self.function)})
        cached = os.path.isfile(loop.__code__.co_filename)
        compiler = cfunc(SIGNATURE, cache=cached, error_model="numpy", **NO_ALLOCATION)
        try:
            pointer: Batch = compiler(loop)
        except NumbaError as error:
            raise TypeError(
                f"The backup {self.function.__name__} does not compile: {reason(error)}; a backup "
                "computes with numbers and makes no arrays or objects. Without @bl.backup it runs "
                "as plain Python."
            ) from error
        return pointer


def backup(function: Function) -> Backup:
    """Compile a backup, when it is first used."""
    return Backup(function, compiled=JIT)


def reason(error: NumbaError) -> str:
    """What the compiler stumbled over, and where if it says so."""
    lines = [line.strip() for line in str(error).splitlines()]
    # the first line that is not about the compiler itself
    what = next((line for line in lines if line and not line.startswith("Failed in")), "no reason")
    where = re.search(r'File ".*", (line \d+)', str(error))
    return what.rstrip(":") + (f" ({where[1]})" if where else "")


def as_backup(function: Backup | Function) -> Backup:
    """A plain function is a backup that runs as Python."""
    return function if isinstance(function, Backup) else Backup(function, compiled=False)


def loop_over(function: Function, names: dict[str, Any]) -> FunctionType:
    """A copy of `each` with these names, which goes by the name and the place of `function`.

    Compiled, it has a cache file of its own, which is out of date when the function's file is.
    """
    name = f"{function.__name__}_each"
    code = each.__code__.replace(
        co_name=name,
        co_filename=function.__code__.co_filename,
        co_firstlineno=function.__code__.co_firstlineno,
    )
    copy = FunctionType(code, {**globals(), **names}, name)
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_each"
    return copy


def one(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Stands for a backup in `each`."""
    raise TypeError("Give `each` a backup, see loop_over.")


def each(
    constants: NDArray[np.float64],
    given: int,
    h: int,
    horizon: int,
    states: int,
    actions: int,
    v: NDArray[np.float64],
    visits: NDArray[np.int64],
    top: float,
    low: float,
    order: NDArray[np.int32],
    seed: np.uint64,
    plan: int,
    n: NDArray[np.int64],
    start: NDArray[np.int64],
    size: NDArray[np.int32],
    succ: NDArray[np.int32],
    m: NDArray[np.int64],
    rewards: NDArray[np.float64],
    first: int,
    rows: NDArray[np.int32],
    count: int,
    out: NDArray[np.float64],
) -> int:
    """out[i] = Q of rows[i] for i < count; a row is s * A + a, its counts are at `first` + row.

    Arrays come as addresses, `constants` with the number `given` of them.
    """
    numbers = view(constants, given)
    values, seen, ranks = view(v, states), view(visits, states), view(order, states)
    stage = Stage(h, horizon, values, seen, top, low, ranks, seed, plan)
    pool = view(succ, 1), view(m, 1)  # their size is not known here and not needed
    for i in range(count):
        at = int(rows[i])
        j = first + at
        s = at // actions
        lo = start[j]
        row = Row(s, at - s * actions, n[j], rewards[at], lo, lo + size[j], pool[0], pool[1], j)
        out[i] = one(numbers, stage, row)
    return count


_F, _L, _I = (types.CPointer(kind) for kind in (types.float64, types.int64, types.int32))
_SIZES = (types.int64,) * 5
SIGNATURE = types.int64(
    *(_F, *_SIZES, _F, _L, types.float64, types.float64, _I, types.uint64, types.int64),
    *(_L, _L, _I, _I, _L, _F, types.int64, _I, types.int64, _F),
)


@inlined
def cap(stage: Stage) -> float:
    """H - h + 1 in the paper's count: the most that is left to earn, this step included."""
    return float(stage.horizon - stage.h)


@inlined
def rest(stage: Stage) -> float:
    """H' = H - h: the most that is left to earn after this step."""
    return float(stage.horizon - stage.h - 1)


@inlined
def mean(stage: Stage, row: Row) -> float:
    """<P^, V~_{h+1}> of a row that has been seen."""
    total = 0.0
    for j in range(row.lo, row.hi):
        total += row.m[j] * stage.v[row.succ[j]]
    return total / row.n


@inlined
def squares(stage: Stage, row: Row, centre: float) -> float:
    """N' Var_{P^}(V~_{h+1}) of a row that has been seen; `centre` is its mean.

    With it sqrt(c Var / N') is sqrt(c squares) / N', which divides once.
    """
    total = 0.0
    for j in range(row.lo, row.hi):
        gap = stage.v[row.succ[j]] - centre
        total += row.m[j] * (gap * gap)
    return total


@inlined
def variance(stage: Stage, row: Row, centre: float) -> float:
    """Var_{P^}(V~_{h+1}) of a row that has been seen; `centre` is its mean."""
    return squares(stage, row, centre) / row.n


@inlined
def clipped(stage: Stage, row: Row, centre: float, beta: float) -> float:
    """Eq. 4: Q = min(H' + 1, R + <P^, V> + min(H', beta))."""
    return min(cap(stage), row.reward + centre + min(rest(stage), beta))


@inlined
def unseen(stage: Stage, row: Row) -> float:
    """A row never seen, value-optimistic: Q = min(H' + 1, R + H')."""
    return min(cap(stage), row.reward + rest(stage))


@inlined
def anywhere(stage: Stage, row: Row) -> float:
    """A row whose confidence set is the whole simplex: Q = min(H' + 1, R + max V)."""
    return min(cap(stage), row.reward + stage.top)
