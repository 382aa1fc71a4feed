"""Calls of a compiled backup for several rows of one stage, and the loop that executes them.

`back_up_rows` computes the listed rows one after another, or eight at a time if the backup has a
function for that. `belated.learner.planning.stages` computes all rows of whole stages. The results
are bit-identical.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from belated.compiled import dereference, inlined, view

types: Any = numba.types
Pair = tuple[float, float]


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


class BackupCall(NamedTuple):
    """Arguments of one call of a compiled backup, for several rows of one stage.

    This class is the only definition of the calling convention: `SIGNATURE` is derived from its
    fields, `belated.learner.planning.full.back_up` sets them, and `back_up_rows` reads them.
    Arrays are passed as pointers to their data.
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
    observed: int
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
    term_slots: int  # number of slots for terms, a power of 2
    term_n: NDArray[np.int64]  # (term_slots) N' whose terms are in each slot, 0 for none
    first_terms: NDArray[np.float64]
    second_terms: NDArray[np.float64]
    has_levels: bool  # whether levels are stored
    levels: NDArray[np.float64]  # (states * actions) receives the level of each row, if has_levels
    has_hints: bool  # whether hints are stored
    hints: NDArray[np.float64]  # (2, states * actions) hints of the rows, replaced, if has_hints
    lanes: NDArray[np.float64]  # working memory: see `planning.pairs` and `planning.row_lanes`
    has_weights: bool  # whether weights are stored; see `planning.weights`
    weights: NDArray[np.float64]  # (states * actions, states) weights of each row, if has_weights
    totals: NDArray[np.float64]  # (states * actions) sum of the weights of each row


CALL_FIELD_TYPES: Final[dict[Any, Any]] = {
    int: types.int64,
    bool: types.boolean,
    float: types.float64,
    np.uint64: types.uint64,
    NDArray[np.float64]: types.CPointer(types.float64),
    NDArray[np.int64]: types.CPointer(types.int64),
    NDArray[np.int32]: types.CPointer(types.int32),
    NDArray[np.bool_]: types.CPointer(types.boolean),
}


def call_signature(call: type[NamedTuple]) -> Any:
    """Return the numba signature of a function that takes a pointer to a `call` and returns an int.

    `call` is the type of a named tuple of numbers and arrays. Its arrays are pointers, too.
    """
    kinds = [CALL_FIELD_TYPES[kind] for kind in call.__annotations__.values()]
    return types.int64(types.CPointer(types.NamedTuple(kinds, call)))


SIGNATURE: Final = call_signature(BackupCall)


def specialise(
    template: Callable[..., Any],
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


HAS_TERMS: Final = False
"""Whether the backup that `back_up_rows` calls has terms; see `RowTerms`. `specialise` replaces
this value in each copy of `back_up_rows`."""


TERM_SLOTS: Final = 1024
"""Number of slots in which a learner stores terms; see `RowTerms`. The terms of N' are in slot N'
modulo this number, a power of 2. Rows share the slots, since the terms depend on N' alone: a row
with new observations seldom has an N' that no other row had."""

MANY_TERM_SLOTS: Final = 8192
"""The same in a simulation. More slots take less time, but a service with many learners would need
more memory."""


HAS_LEVEL: Final = False
"""Whether the backup that `back_up_rows` calls returns levels; see `RowTerms`. `specialise`
replaces this value in each copy of `back_up_rows`."""


HAS_PAIRS: Final = False
"""Whether the backup that `back_up_rows` calls has a function for rows with two successors; see
`RowTerms`. `specialise` replaces this value in each copy of `back_up_rows`."""


HAS_LANES: Final = False
"""Whether the backup that `back_up_rows` calls has a function for eight rows; see `RowTerms`.
`specialise` replaces this value in each copy of `back_up_rows`."""

MIN_ROWS: Final = 3
"""Smallest number of rows of a call for which rows are computed in lanes. One or two rows take as
long as eight."""

MIN_STATES: Final = 6
"""Smallest number of states for which rows are computed in lanes. With fewer, it takes longer."""


@inlined
def compute_terms(constants: NDArray[np.float64], n: int) -> Pair:
    """Return (0, 0); `specialise` replaces this placeholder by `RowTerms.compute`."""
    return 0.0, 0.0


@inlined
def back_up_with_terms(constants: NDArray[np.float64], stage: Stage, row: Row, terms: Pair) -> Any:
    """Return 0; `specialise` replaces this placeholder by `RowTerms.back_up`."""
    return 0.0


@inlined
def back_up_with_hint(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: Pair, hint: Pair
) -> tuple[float, float, Pair]:
    """Return zeros; `specialise` replaces this placeholder by a function with a hint."""
    return 0.0, 0.0, (0.0, 0.0)


@inlined
def back_up_pair(constants: NDArray[np.float64], stage: Stage, row: Row, terms: Pair) -> float:
    """Return 0; `specialise` replaces this placeholder by `RowTerms.back_up_pair`."""
    return 0.0


@inlined
def back_up_pairs(
    pointer: BackupCall, call: BackupCall, constants: NDArray[np.float64], stage: Stage
) -> bool:
    """Return False; `specialise` replaces this placeholder by a copy of `pairs.back_up_pairs`."""
    return False


@inlined
def back_up_lanes(pointer: BackupCall) -> None:
    """Do nothing; `specialise` replaces this placeholder by a copy of `row_lanes.back_up_lanes`."""


def with_terms_only(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: Pair, hint: Pair
) -> tuple[float, float, Pair]:
    """Return Q_h(s, a) of a row with observations, 0 and `hint`; see `RowTerms`."""
    return back_up_with_terms(constants, stage, row, terms), 0.0, hint


def with_level_only(
    constants: NDArray[np.float64], stage: Stage, row: Row, terms: Pair, hint: Pair
) -> tuple[float, float, Pair]:
    """Return Q_h(s, a) of a row with observations, its level and `hint`; see `RowTerms`."""
    q, level = back_up_with_terms(constants, stage, row, terms)
    return q, level, hint


HAS_WEIGHTS: Final = False
"""Whether the backup that `back_up_rows` calls has weights; see `RowWeights`. `specialise` replaces
this value in each copy of `back_up_rows`."""


@inlined
def back_up_with_weights(call: BackupCall, constants: NDArray[np.float64], stage: Stage) -> None:
    """Do nothing; `specialise` replaces this by a copy of `planning.weights.back_up_all`."""


def read_stage(call: BackupCall) -> Stage:
    """Return the inputs of a backup that are common to all rows of `call`."""
    return Stage(
        call.h,
        call.horizon,
        view(call.v, call.states),
        view(call.visits, call.states),
        call.top,
        call.low,
        view(call.order, call.states),
        call.seed,
        call.plan,
        call.observed,
    )


def read_row(call: BackupCall, at: int) -> Row:
    """Return the row number `at` of the stage of `call`, s * A + a."""
    j = call.first + at
    s = at // call.actions
    lo = call.start[j]
    hi = lo + call.size[j]
    succ, m = view(call.succ, 1), view(call.m, 1)  # each row has its limits lo and hi
    return Row(s, at - s * call.actions, call.n[j], call.rewards[at], lo, hi, succ, m, j)


@inlined
def mean_level(stage: Stage, row: Row) -> float:
    """Return <P^, V~_{h+1}>, the level of a `row` whose backup declares that it reads "above".

    `stage` holds V~_{h+1}. The level of a row without observations is infinite: its backup reads no
    value except the largest.
    """
    if row.n == 0:
        return math.inf
    total = 0.0
    for j in range(row.lo, row.hi):
        total += row.m[j] * stage.v[row.succ[j]]
    return total / row.n


def back_up_rows(pointer: BackupCall) -> int:
    """Compute Q_h(s, a) of each row listed in a `BackupCall`, and return the number of these rows.

    `pointer` is a pointer to the call. The values are stored in `call.out`, and the levels in
    `call.levels`; see `RowTerms.has_level`.
    """
    call = dereference(pointer)
    constants = view(call.constants, call.constants_size)
    stage = read_stage(call)
    if HAS_WEIGHTS and call.has_weights:
        back_up_with_weights(call, constants, stage)
        return call.row_count
    count = call.states * call.actions
    pairs_computed = False
    if HAS_PAIRS:
        pairs_computed = back_up_pairs(pointer, call, constants, stage)
    lanes_computed = False
    if HAS_LANES and call.has_hints and call.row_count >= MIN_ROWS and call.states >= MIN_STATES:
        back_up_lanes(pointer)
        lanes_computed = True
    pair = 0  # number of rows with two successors so far
    for i in range(call.row_count):
        if HAS_LANES and lanes_computed and not math.isnan(call.out[i]):
            continue
        at = int(call.rows[i])
        row = read_row(call, at)
        n = row.n
        if HAS_PAIRS and pairs_computed and row.hi - row.lo == 2:
            call.out[i] = call.lanes[pair]
            pair += 1
            if call.out[i] == call.out[i]:  # not NaN
                if call.has_levels:
                    call.levels[at] = mean_level(stage, row)
                continue
        if HAS_TERMS and n > 0:
            slot = n & (call.term_slots - 1)
            if call.term_n[slot] != n:
                call.first_terms[slot], call.second_terms[slot] = compute_terms(constants, n)
                call.term_n[slot] = n
            terms = call.first_terms[slot], call.second_terms[slot]
            hint = -math.inf, -math.inf
            if call.has_hints:
                hint = call.hints[at], call.hints[count + at]
            call.out[i], level, hint = back_up_with_hint(constants, stage, row, terms, hint)
            if call.has_hints:
                call.hints[at], call.hints[count + at] = hint
            if call.has_levels:
                call.levels[at] = level if HAS_LEVEL else mean_level(stage, row)
        else:
            call.out[i] = back_up_row(constants, stage, row)
            if call.has_levels:
                call.levels[at] = mean_level(stage, row)
    return call.row_count
