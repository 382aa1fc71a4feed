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

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, types
from numpy.typing import NDArray

from belated.compiled import JIT, compiled


class Stage(NamedTuple):
    """The next step, as seen from step h: everything a backup may read beside its own row."""

    h: int  # this step, 0 .. horizon - 1
    horizon: int
    v: NDArray[np.float64]  # V~_{h+1}(y); all zero after the last step
    visits: NDArray[np.int64]  # N'_{h+1}(y); all zero after the last step
    top: float  # the largest v; needs reads="best"
    low: float  # the smallest v; needs reads="extremes"
    order: NDArray[np.int32]  # states by v, largest first; needs reads="everything"


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


Backup = Callable[[NDArray[np.float64], Stage, Row], float]


def _vector(dtype: Any) -> Any:
    return types.Array(dtype, 1, "C")


SIGNATURE = types.float64(
    _vector(types.float64),
    types.NamedTuple(
        [
            types.int64,
            types.int64,
            _vector(types.float64),
            _vector(types.int64),
            types.float64,
            types.float64,
            _vector(types.int32),
        ],
        Stage,
    ),
    types.NamedTuple(
        [
            types.int64,
            types.int64,
            types.int64,
            types.float64,
            types.int64,
            types.int64,
            _vector(types.int32),
            _vector(types.int64),
        ],
        Row,
    ),
)


def backup(function: Backup) -> Backup:
    """Compile a backup to a function pointer, so that one compiled planner serves every base."""
    if not JIT:
        return function
    cached = inspect.getsourcefile(function) is not None and function.__module__ != "__main__"
    result: Backup = cfunc(SIGNATURE, cache=cached, error_model="numpy")(function)
    return result


def is_compiled(function: Any) -> bool:
    """Whether `function` can be handed to a compiled planner."""
    return not JIT or hasattr(function, "native_name")


@compiled
def cap(stage: Stage) -> float:
    """H - h + 1 in the paper's count: the most that is left to earn, this step included."""
    return float(stage.horizon - stage.h)


@compiled
def rest(stage: Stage) -> float:
    """H' = H - h: the most that is left to earn after this step."""
    return float(stage.horizon - stage.h - 1)


@compiled
def mean(stage: Stage, row: Row) -> float:
    """<P^, V~_{h+1}> of a row that has been seen."""
    total = 0.0
    for j in range(row.lo, row.hi):
        total += row.m[j] * stage.v[row.succ[j]]
    return total / row.n


@compiled
def variance(stage: Stage, row: Row, centre: float) -> float:
    """Var_{P^}(V~_{h+1}) of a row that has been seen; `centre` is its mean."""
    total = 0.0
    for j in range(row.lo, row.hi):
        gap = stage.v[row.succ[j]] - centre
        total += row.m[j] * (gap * gap)
    return total / row.n


@compiled
def clipped(stage: Stage, row: Row, centre: float, beta: float) -> float:
    """Eq. 4: Q = min(H' + 1, R + <P^, V> + min(H', beta))."""
    return min(cap(stage), row.reward + centre + min(rest(stage), beta))


@compiled
def unseen(stage: Stage, row: Row) -> float:
    """A row never seen, value-optimistic: Q = min(H' + 1, R + H')."""
    return min(cap(stage), row.reward + rest(stage))


@compiled
def anywhere(stage: Stage, row: Row) -> float:
    """A row whose confidence set is the whole simplex: Q = min(H' + 1, R + max V)."""
    return min(cap(stage), row.reward + stage.top)
