"""Backups, the central functions of base algorithms, and functions for writing backups.

A backup computes the optimistic value of one (step, state, action):

    backup(constants, stage, row) -> Q_h(s, a)

`constants` are the numerical constants of the base, fixed before the run. `stage` holds the values
and visit counts of step h + 1. `row` holds the observations of (h, s, a). A function decorated with
`@backup` is compiled with numba. A plain function runs as Python: in a `Learner`, and in
simulations by the reference loop only.

>>> import math
>>> @backup
... def my_backup(constants, stage, row):
...     if row.n == 0:
...         return unseen(stage, row)
...     return clipped(stage, row, mean(stage, row), constants[0] / math.sqrt(row.n))
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import NDArray

from belated.compiled import JIT, inlined

Pair = tuple[float, float]

Reads = Literal["successors", "best", "extremes", "above", "everything", "order"]
"""Values of the next step that a backup reads; see `BackupRule.reads`."""

READS: Final = get_args(Reads)
READS_BEST: Final = READS.index("best")
READS_EXTREMES: Final = READS.index("extremes")
READS_EVERYTHING: Final = READS.index("everything")
READS_ORDER: Final = READS.index("order")


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
    observed: int = 0  # number of observed steps, of all rows together; needs samples=True
    # numbers that the backup keeps for other steps; see BackupRule.kept_samples
    samples: NDArray[np.float64] = np.zeros(0)


class Row(NamedTuple):
    """Observations of one row of the counts: a step h, a state s and an action a.

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


Function = Callable[[NDArray[np.float64], Stage, Row], float]


class RowTerms(NamedTuple):
    """Backup divided into two steps: terms that depend on N' alone, and Q computed from them.

    N' is the number of observed visits of a row. The terms of each row are stored. Both functions
    must be compiled. For a row with observations, their result must be bit-identical to that of the
    backup.
    """

    compute: Callable[[NDArray[np.float64], int], tuple[float, float]]
    """Function of (constants, n) that returns the two terms of a row with N' = n."""

    back_up: Callable[..., Any]
    """Function of (constants, stage, row, terms) that returns Q_h(s, a) of the row. `terms` is the
    result of `compute`. If `has_level`, the function returns a pair of Q_h(s, a) and its level."""

    has_level: bool = False
    """Whether `back_up` returns a level: a number such that values of the next step below it have
    no effect on Q_h(s, a), except for those of the successors of the row and the largest value.
    Incremental planning computes the row again only if a value of its successors, the largest
    value, or a value of at least the level changes, whatever the base declares that it reads."""


@dataclass(frozen=True)
class Backup:
    """Backup function of a base, with the properties declared in the decorator `backup`."""

    function: Function
    compiled: bool  # False for a plain Python function
    terms: RowTerms | None = None  # see `backup`

    def __call__(self, constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
        """Return Q_h(s, a) of `row`, computed from `constants` and the values in `stage`."""
        return self.function(constants, stage, row)


@overload
def backup(function: Function) -> Backup: ...


@overload
def backup(*, terms: RowTerms | None = None) -> Callable[[Function], Backup]: ...


def backup(
    function: Function | None = None, *, terms: RowTerms | None = None
) -> Backup | Callable[[Function], Backup]:
    """Return a `Backup` that compiles a function when it is first used.

    Parameters
    ----------
    function : callable
        Function of (constants, stage, row) that returns Q_h(s, a).
    terms : RowTerms, optional
        The same backup, divided into terms that depend only on N', the number of observations of a
        row, and the rest. The terms of a row are computed again only when its N' changes.

    Returns
    -------
    Backup
        The backup; a decorator if `function` is not given.
    """
    if function is None:
        return lambda function: Backup(function, JIT, terms)
    return Backup(function, JIT, terms)


def as_backup(function: Backup | Function) -> Backup:
    """Return `function` as a `Backup`; a plain function is wrapped and runs as Python."""
    return function if isinstance(function, Backup) else Backup(function, compiled=False)


def is_built_in(part: Any) -> bool:
    """Return whether the function of `part`, a `Backup` or a `Trigger`, is one of this package.

    Its two forms, compiled and plain Python, give the same bits.
    """
    return bool(part.function.__module__.startswith("belated."))


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
        Row with at least one observation.
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
        Row with at least one observation.
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

    V is V~_{h+1}, and H' = H - h is the largest possible sum of rewards after this step.

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

    R is the reward of the row. H' = H - h is the largest possible sum of rewards after the step of
    `stage`.
    """
    return min(cap(stage), row.reward + rest(stage))


@inlined
def anywhere(stage: Stage, row: Row) -> float:
    """Return Q = min(H' + 1, R + max V), the value of `row` if it always led to the best state.

    R is the reward of the row, and V are the values of the next step in `stage`. H' = H - h is the
    largest possible sum of rewards after the step of `stage`.
    """
    return min(cap(stage), row.reward + stage.top)
