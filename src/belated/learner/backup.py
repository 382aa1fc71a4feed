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
from functools import cache
from typing import Any, overload

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from belated.compiled import JIT, compile_callback, identity, inlined, uncached
from belated.learner.backup_call import (
    SIGNATURE,
    BackupCall,
    Row,
    Stage,
    back_up_rows,
    back_up_rows_or_stage,
    back_up_stage,
    specialise,
)
from belated.learner.packed import WIDTHS

__all__ = ["Row", "Stage"]

Function = Callable[[NDArray[np.float64], Stage, Row], float]
Batch = Callable[[BackupCall], int]


@dataclass(frozen=True)
class Backup:
    """Backup function of a base."""

    function: Function
    compiled: bool  # False for a plain Python function
    elementwise: bool = False  # see `backup`

    def __call__(self, constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
        """Return Q_h(s, a) of `row`, computed from `constants` and the values in `stage`."""
        return self.function(constants, stage, row)


@overload
def backup(function: Function) -> Backup: ...


@overload
def backup(*, elementwise: bool) -> Callable[[Function], Backup]: ...


def backup(
    function: Function | None = None, *, elementwise: bool = False
) -> Backup | Callable[[Function], Backup]:
    """Return a `Backup` that compiles a function when it is first used.

    Parameters
    ----------
    function : callable
        Function of (constants, stage, row) that returns Q_h(s, a).
    elementwise : bool
        Declares that a whole stage may be computed at once, which is several times faster where
        most values change. For a row with observations, the function must use `row.succ` only as an
        index into `stage.v` and `stage.visits`, and read these arrays only there; `constants` must
        only be indexed or unpacked.

    Returns
    -------
    Backup
        The backup; a decorator if only `elementwise` is given.
    """
    if function is None:
        return lambda function: Backup(function, JIT, elementwise)
    return Backup(function, JIT, elementwise)


def as_backup(function: Backup | Function) -> Backup:
    """Return `function` as a `Backup`; a plain function is wrapped and runs as Python."""
    return function if isinstance(function, Backup) else Backup(function, compiled=False)


@cache
def compile_batch(backup: Backup, constants: int) -> Batch:
    """Return the function that applies a backup to all rows of a `BackupCall`.

    If the backup is compiled, this is a function pointer. Its type is the same for every base, so
    that the planner is compiled only once.

    Parameters
    ----------
    backup : Backup
        Backup to apply.
    constants : int
        Number of constants of the backup.

    Returns
    -------
    Batch
        `back_up_rows` with this backup; for an elementwise backup `back_up_rows_or_stage`.
    """
    function = backup.function
    if not backup.compiled:
        return specialise(back_up_rows, function, {"back_up_row": function, "view": identity})
    names: dict[str, Any] = {"back_up_row": uncached(function)}
    loop = specialise(back_up_rows, function, names)
    if backup.elementwise:
        loops: dict[str, Any] = {"back_up_rows": uncached(loop)}
        for width in WIDTHS:
            sizes = {"WIDTH": width, "POSITIONS": tuple(range(width)), "CONSTANTS": constants}
            stage = specialise(back_up_stage, function, names | sizes)
            loops[f"back_up_stage_{width}"] = uncached(stage)
        loop = specialise(back_up_rows_or_stage, function, loops, f"_{constants}")
    try:
        pointer: Batch = compile_callback(loop, SIGNATURE)
    except NumbaError as error:
        raise TypeError(
            f"The backup {function.__name__} does not compile: {describe_error(error)}. A backup "
            "computes with numbers and creates no arrays or objects. Without @bl.backup it runs "
            "as plain Python."
        ) from error
    return pointer


def describe_error(error: NumbaError) -> str:
    """Return the cause of a compilation `error` in one line, with the source line if known."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # numba highlights it if colorama is installed
    lines = [line.strip() for line in text.splitlines()]
    # the first line that is not about the compiler itself
    cause = next((line for line in lines if line and not line.startswith("Failed in")), "unknown")
    where = re.search(r'File ".*", (line \d+)', text)
    return cause.rstrip(":.") + (f" ({where[1]})" if where else "")


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
