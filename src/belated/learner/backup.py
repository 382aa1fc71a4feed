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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, overload

import numba
import numpy as np
from numba.core.errors import NumbaError
from numba.extending import typeof_impl
from numpy.typing import NDArray

from belated.compiled import JIT, compile_callback, identity, inlined, uncached
from belated.learner import backup_call
from belated.learner.backup_call import (
    BackupCall,
    Row,
    Stage,
    back_up_rows,
    read_row,
    read_stage,
    specialise,
    with_level_only,
    with_terms_only,
)
from belated.learner.compile_errors import compilation_error
from belated.learner.planning import (
    changed_rows,
    pairs,
    row_lanes,
    stage_rows,
    stages,
    stages_call,
    weights,
)
from belated.learner.planning.packed import WIDTHS
from belated.learner.planning.row_lanes import RowLanes
from belated.learner.planning.stages_call import StagesCall
from belated.learner.planning.weights import RowWeights

__all__ = ["Row", "RowLanes", "RowWeights", "Stage"]

Function = Callable[[NDArray[np.float64], Stage, Row], float]


class Batch(NamedTuple):
    """Two functions that apply one backup to many rows of the counts.

    They are function pointers if the backup is compiled. The types of these pointers are the same
    for every base, so that the planner is compiled only once.
    """

    rows: Callable[[BackupCall], int]  # `back_up_rows` with this backup
    stages: Callable[[StagesCall], int]  # `plan_stages` with this backup; only if it is elementwise


class RowTerms(NamedTuple):
    """Backup divided into two steps: terms that depend on N' alone, and Q computed from them.

    N' is the number of observed visits of a row. The terms of an N' are stored and shared by all
    rows with this N'. Both functions must be compiled. For a row with observations, their result
    must be bit-identical to that of the backup.
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

    has_hint: bool = False
    """Whether `back_up` takes a hint, a pair of numbers, as its last argument, and returns the hint
    for the next backup of the row after the level, which it must return too. The first hint is
    minus infinity twice. A hint may save time or raise the level, but must not change a bit of
    Q_h(s, a)."""

    back_up_pair: Callable[..., Any] | None = None
    """Function of (constants, stage, row, terms) that returns Q_h(s, a) of a row with exactly two
    successors, or NaN if `back_up` must compute it. The compiler processes several such rows with
    one instruction if the function has only simple branches and no loops of unknown length. The
    counts `row.m` and `row.n` are floats. `stage.v` may only be read at indices from `row.succ`;
    `stage.visits`, `row.s`, `row.a` and `row.number` must not be read. The function returns neither
    a level nor a hint, so that `has_level` and `has_hint` must be False."""

    back_up_lanes: Callable[..., Any] | None = None
    """Function of (constants, stage, rows), with a `RowLanes`, that returns Q_h(s, a), the level
    and the hint of eight rows, as lanes; see `belated.compiled.lanes`. Q_h(s, a) is NaN where
    `back_up` must compute it. Only rows with a hint are passed; `has_level` and `has_hint` must be
    True."""


@dataclass(frozen=True)
class Backup:
    """Backup function of a base, with the properties declared in the decorator `backup`."""

    function: Function
    compiled: bool  # False for a plain Python function
    elementwise: bool = False  # see `backup`
    terms: RowTerms | None = None  # see `backup`
    weights: RowWeights | None = None  # see `backup`

    def __post_init__(self) -> None:
        terms = self.terms
        if terms is None:
            return
        for name, required in (("back_up_pair", False), ("back_up_lanes", True)):
            found = terms.has_level, terms.has_hint
            if getattr(terms, name) is not None and found != (required, required):
                raise ValueError(
                    f"terms with {name} must have has_level={required} and has_hint={required}, "
                    f"got has_level={found[0]} and has_hint={found[1]}."
                )

    def __call__(self, constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
        """Return Q_h(s, a) of `row`, computed from `constants` and the values in `stage`."""
        return self.function(constants, stage, row)


@overload
def backup(function: Function) -> Backup: ...


@overload
def backup(
    *,
    elementwise: bool = False,
    terms: RowTerms | None = None,
    weights: RowWeights | None = None,
) -> Callable[[Function], Backup]: ...


def backup(
    function: Function | None = None,
    *,
    elementwise: bool = False,
    terms: RowTerms | None = None,
    weights: RowWeights | None = None,
) -> Backup | Callable[[Function], Backup]:
    """Return a `Backup` that compiles a function when it is first used.

    Parameters
    ----------
    function : callable
        Function of (constants, stage, row) that returns Q_h(s, a).
    elementwise : bool
        Declares that a whole stage may be computed at once, which is several times faster where
        most values change. For a row with observations, the function may read `stage.v` and
        `stage.visits` only at indices from `row.succ`, may use `row.succ` for nothing else, and may
        read `stage.top` and `stage.low` only if the base declares that it reads "best" or
        "extremes". For a row without observations, the result may depend on the row only through
        `row.reward`.
        `constants` must only be indexed or unpacked.
    terms : RowTerms, optional
        The same backup, divided into terms that depend only on N', the number of observations of a
        row, and the rest. The terms of an N' are seldom computed more than once.
    weights : RowWeights, optional
        The same backup, divided into random weights of the states and the rest. With pooled counts,
        the weights are drawn once for each plan.

    Returns
    -------
    Backup
        The backup; a decorator if `function` is not given.

    Raises
    ------
    ValueError
        If the fields of `terms` do not fit together.
    """
    if function is None:
        return lambda function: Backup(function, JIT, elementwise, terms, weights)
    return Backup(function, JIT, elementwise, terms, weights)


def as_backup(function: Backup | Function) -> Backup:
    """Return `function` as a `Backup`; a plain function is wrapped and runs as Python."""
    return function if isinstance(function, Backup) else Backup(function, compiled=False)


@cache
def compile_batch(backup: Backup, constants: int) -> Batch:
    """Return the functions that apply `backup` to many rows, compiled if `backup` is compiled.

    `constants` is the number of constants of the backup. Raises CompilationError if the backup does
    not compile.
    """
    function = backup.function
    names: dict[str, Any]
    if not backup.compiled:
        names = {"back_up_row": function, "view": identity, "dereference": identity}
        names |= {
            each.__name__: specialise(each, function, names) for each in (read_row, read_stage)
        }
        return Batch(specialise(back_up_rows, function, names), no_stages)
    reader = uncached(read_row)
    names = {"back_up_row": uncached(function), "read_row": reader}
    names["read_stage"] = uncached(read_stage)
    if backup.terms is not None:
        names |= {"HAS_TERMS": True, "compute_terms": backup.terms.compute}
        with_hint = backup.terms.back_up
        if not backup.terms.has_hint:
            own = {"back_up_with_terms": backup.terms.back_up}
            simpler = with_level_only if backup.terms.has_level else with_terms_only
            with_hint = uncached(specialise(simpler, function, own))
        names |= {"HAS_LEVEL": backup.terms.has_level, "back_up_with_hint": with_hint}
        if backup.terms.back_up_pair is not None:
            own = names | {"back_up_pair": backup.terms.back_up_pair}
            block = uncached(specialise(pairs.back_up_pair_block, function, own), inline=False)
            own |= {"back_up_pair_block": block}
            pair_loop = uncached(specialise(pairs.back_up_pairs, function, own))
            names |= {"HAS_PAIRS": True, "back_up_pairs": pair_loop}
        if backup.terms.back_up_lanes is not None:
            own = names | {"back_up_eight": backup.terms.back_up_lanes}
            lanes = uncached(specialise(row_lanes.back_up_lanes, function, own), inline=False)
            names |= {"HAS_LANES": True, "back_up_lanes": lanes}
    if backup.weights is not None:
        draw, with_sums = backup.weights
        own = {"draw_weights": draw, "back_up_with_sums": with_sums, "read_row": reader}
        with_weights = uncached(specialise(weights.back_up_all, function, own))
        names |= {"HAS_WEIGHTS": True, "back_up_with_weights": with_weights}
    loop = specialise(back_up_rows, function, names)
    try:
        rows = compile_callback(loop, backup_call.SIGNATURE)
        if not backup.elementwise:
            return Batch(rows, compile_no_stages())
        loops: dict[str, Any] = {}
        for width in WIDTHS:
            sizes = {"WIDTH": width, "POSITIONS": tuple(range(width)), "CONSTANTS": constants}
            parts: dict[str, Any] = {}
            for part in (stage_rows.back_up_block, stages.back_up_stage):
                copy = specialise(part, function, names | sizes | parts)
                parts[part.__name__] = uncached(copy)
            copy = specialise(changed_rows.plan_changed, function, names | sizes)
            parts["plan_changed"] = uncached(copy, inline=False)
            loops |= {f"{name}_{width}": part for name, part in parts.items()}
        copy = specialise(stages.plan_whole, function, loops)
        loops["plan_whole"] = uncached(copy, inline=False)
        loop = specialise(stages.plan_stages, function, loops, f"_{constants}")
        return Batch(rows, compile_callback(loop, stages_call.SIGNATURE))
    except NumbaError as error:
        raise compilation_error("backup", function, error) from error


def no_stages(call: StagesCall) -> int:
    """Return -1 and ignore `call`; replaces `plan_stages` if the backup is not elementwise."""
    return -1


@cache
def compile_no_stages() -> Callable[[StagesCall], int]:
    """Return `no_stages` as a function pointer."""
    function: Any = no_stages
    pointer: Callable[[StagesCall], int] = compile_callback(function, stages_call.SIGNATURE)
    return pointer


@cache
def batch_type() -> Any:
    """Return the numba type of `Batch`, which is the same for all compiled backups."""
    kinds = [numba.types.FunctionType(each.SIGNATURE) for each in (backup_call, stages_call)]
    return numba.types.NamedTuple(kinds, Batch)


@typeof_impl.register(Batch)
def type_of_batch(batch: Batch, context: object) -> Any:
    """Return the numba type of a compiled `batch`; `context` is not used.

    Without this function, numba would derive the type from the signatures of the two functions of
    `batch` in every call.
    """
    return batch_type()


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
