"""Functions of a base that the planner and the engine call by pointer, compiled for each base.

They have the same types for every base, so that planner and engine are compiled only once. A `Form`
selects whether they run compiled or as plain Python.
"""

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final, NamedTuple, TypeVar

import numba
from numba.core.errors import NumbaError
from numba.extending import typeof_impl

from belated.compiled import (
    JIT,
    as_plain,
    bind,
    budget,
    compile_callback,
    dereference,
    inlined,
    interpret,
    is_ready,
)
from belated.compiled.cache import has_code
from belated.episode import Floats
from belated.learner.backup import Backup, Pair, Row, Stage, as_backup, is_built_in
from belated.learner.bases.base import BackupRule, no_absorb, no_plan
from belated.learner.own_functions import compilation_error
from belated.learner.state import Config, LearnerRecord, LearnerState

types: Any = numba.types

F = TypeVar("F", bound=Callable[..., Any])

HAS_TERMS: Final = False
"""Whether the backup that `back_up_rows` calls has terms; see `RowTerms`. `bind` replaces this
value."""

HAS_LEVEL: Final = False
"""Whether this backup returns levels; see `RowTerms`. `bind` replaces this value."""


class Loops(NamedTuple):
    """Functions of a base, which are function pointers if they are compiled."""

    rows: Callable[[LearnerRecord, int, int, int], int]
    """`back_up_rows` with the backup of the base."""

    absorb: Callable[[LearnerRecord, int, int, float], int]
    """`Hooks.absorb`, called only if the base has hooks."""

    plan: Callable[[LearnerRecord, int], int]
    """`Hooks.plan`, called only if the base has hooks."""


@inlined
def read_stage(config: Config, state: LearnerState, h: int, plan: int) -> Stage:
    """Return the inputs of a backup at step `h` of a plan that are common to all rows.

    `config` and `state` are those of the learner; `plan` is the number of the plan.
    """
    table, counts = state.table, state.counts
    H = table.actions.shape[0]
    observed = 0
    if config.samples:
        for n in counts.visits.flat:
            observed += int(n)
    visits = state.scratch.no_visits
    if h < H - 1:
        visits = counts.visits[0 if counts.visits.shape[0] == 1 else h + 1]
    return Stage(
        h,
        H,
        table.v[h + 1],
        visits,
        table.top[h + 1],
        table.low[h + 1],
        table.order[h + 1],
        config.seed,
        plan,
        observed,
        state.scratch.samples,
    )


@inlined
def read_row(config: Config, state: LearnerState, h: int, at: int) -> Row:
    """Return the row number `at` = s * A + a of step `h`, from `config` and `state`."""
    counts = state.counts
    first = 0 if counts.visits.shape[0] == 1 else h * state.scratch.out.size
    j = first + at
    s = at // config.actions
    lo = counts.start[j]
    hi = lo + counts.size[j]
    reward = state.rewards[h, at]
    return Row(s, at - s * config.actions, counts.n[j], reward, lo, hi, counts.succ, counts.m, j)


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


def back_up_row(constants: Floats, stage: Stage, row: Row) -> float:
    """Raise TypeError: `bind` replaces this function by the backup of a base."""
    raise TypeError("back_up_rows needs a backup, see loops_of.")


def compute_terms(constants: Floats, n: int) -> Pair:
    """Raise TypeError: `bind` replaces this function by `RowTerms.compute`."""
    raise TypeError("back_up_rows needs terms, see loops_of.")


def back_up_with_terms(constants: Floats, stage: Stage, row: Row, terms: Pair) -> Any:
    """Raise TypeError: `bind` replaces this function by `RowTerms.back_up`."""
    raise TypeError("back_up_rows needs terms, see loops_of.")


def back_up_rows(pointer: LearnerRecord, h: int, plan: int, listed: int) -> int:
    """Compute Q_h(s, a) of the first `listed` rows in `scratch.rows`, for step `h` of a plan.

    `pointer` is a pointer to the record of the learner. The values are stored in `scratch.out`, and
    the levels in `scratch.levels`; see `RowTerms.has_level`. Returns `listed`.
    """
    record = dereference(pointer)
    config, state = record.config, record.state
    scratch, constants = state.scratch, config.constants
    stage = read_stage(config, state, h, plan)
    has_levels = scratch.levels.size > 0
    for i in range(listed):
        at = scratch.rows[i]
        row = read_row(config, state, h, at)
        level = 0.0
        if HAS_TERMS and row.n > 0:
            if scratch.term_n[row.number] != row.n:
                first, second = compute_terms(constants, row.n)
                scratch.terms[0, row.number], scratch.terms[1, row.number] = first, second
                scratch.term_n[row.number] = row.n
            terms = scratch.terms[0, row.number], scratch.terms[1, row.number]
            if HAS_LEVEL:
                scratch.out[i], level = back_up_with_terms(constants, stage, row, terms)
            else:
                scratch.out[i] = back_up_with_terms(constants, stage, row, terms)
        else:
            scratch.out[i] = back_up_row(constants, stage, row)
        if has_levels:
            scratch.levels[h, at] = level if HAS_LEVEL and row.n > 0 else mean_level(stage, row)
    return listed


def loops_of(rule: BackupRule, record: LearnerRecord) -> Loops:
    """Return the functions of a base with this `rule`, compiled if its backup is compiled.

    `record` is the record of any learner: the types are the same for all. Raises CompilationError
    if the backup does not compile.
    """
    backup = as_backup(rule.backup)
    if not backup.compiled:
        return plain_loops(rule)
    absorb, plan = (no_absorb, no_plan) if rule.hooks is None else rule.hooks[:2]
    return _compile(backup, absorb, plan, numba.typeof(record))


def plain_loops(rule: BackupRule) -> Loops:
    """Return the functions of a base with this `rule` as plain Python."""
    absorb, plan = (no_absorb, no_plan) if rule.hooks is None else rule.hooks[:2]
    return _interpret(as_backup(rule.backup), absorb, plan)


@cache
def _interpret(backup: Backup, absorb: Any, plan: Any) -> Loops:
    # a plain function of a user runs as it is, with its own globals
    form = interpret if backup.compiled else _unchanged
    return Loops(interpret(_bind_rows(backup, form)), interpret(absorb), interpret(plan))


def _unchanged(function: Any) -> Any:
    return function


def has_loops(backup: Backup) -> bool:
    """Return whether the functions of a base with this `backup` are compiled, or on disk."""
    return backup in _ready or has_code(_bound_rows(backup))


@cache
def _bound_rows(backup: Backup) -> FunctionType:
    return _bind_rows(backup, inlined)


_ready: set[Backup] = set()


@cache
def _compile(backup: Backup, absorb: Any, plan: Any, kind: Any) -> Loops:
    pointer, number = types.CPointer(kind), types.int64
    _ready.add(backup)
    try:
        rows = compile_callback(_bound_rows(backup), number(pointer, number, number, number))
    except NumbaError as error:
        raise compilation_error("backup", backup.function, error) from error
    return Loops(
        rows,
        compile_callback(absorb, number(pointer, number, number, types.float64)),
        compile_callback(plan, number(pointer, number)),
    )


def _bind_rows(backup: Backup, form: Callable[[Any], Any]) -> FunctionType:
    """Return `back_up_rows` with this `backup`; `form` is applied to the functions of a user."""
    names: dict[str, Any] = {"back_up_row": form(backup.function)}
    if (terms := backup.terms) is not None and backup.compiled:
        names |= {"HAS_TERMS": True, "HAS_LEVEL": terms.has_level}
        names |= {"compute_terms": terms.compute, "back_up_with_terms": terms.back_up}
    return bind(back_up_rows, **names)


class Form:
    """Form in which some kernels run with the functions of a base: plain Python, or compiled.

    Both forms work on the same record and give the same bits, so that the form can change between
    two calls. Where no compiled code is on disk, it is plain Python at first; see
    `belated.compiled.budget`.

    Parameters
    ----------
    rule : BackupRule
        Rule of the base.
    rows : int
        Number of rows of a plan. Large plans are compiled first.
    *kernels : callable
        Kernels that take `Loops`.
    built_in : bool
        Whether all other functions involved are of this package. Functions of a user are always
        compiled, because their two forms may differ in the last bit.
    """

    def __init__(
        self, rule: BackupRule, rows: int, *kernels: Callable[..., Any], built_in: bool = True
    ) -> None:
        self._rule = rule
        self._kernels = kernels
        self._counted = 0
        small = rows <= budget.MAX_CALL
        may_be_plain = JIT and built_in and small and is_built_in(as_backup(rule.backup))
        self.is_plain = may_be_plain and not self.is_ready()

    def kernel(self, kernel: F) -> F:
        """Return a kernel in this form."""
        return as_plain(kernel) if self.is_plain else kernel

    def loops(self, record: LearnerRecord) -> Loops:
        """Return the functions of the base in this form; `record` is that of the learner."""
        return plain_loops(self._rule) if self.is_plain else loops_of(self._rule, record)

    def limit(self) -> int:
        """Return the work, counted in `Scratch.work`, at which the form may change."""
        return self._counted + budget.remaining() if self.is_plain else budget.UNLIMITED

    def count(self, work: int) -> None:
        """Take note of the `work` done so far, counted in `Scratch.work`; the form may change."""
        if self.is_plain:
            budget.spend(work - self._counted)
            self._counted = work
            self.is_plain = budget.remaining() > 0 and not self.is_ready()

    def is_ready(self) -> bool:
        """Return whether nothing needs to be compiled."""
        return all(map(is_ready, self._kernels)) and has_loops(as_backup(self._rule.backup))


@typeof_impl.register(Loops)
def type_of_loops(loops: Loops, context: object) -> Any:
    """Return the numba type of compiled `loops`; `context` is not used.

    Without this function, numba would derive the type from the signatures in every call.
    """
    return _type_of(*(getattr(each, "_sig", None) for each in loops))


@cache
def _type_of(*signatures: Any) -> Any:
    return types.NamedTuple([types.FunctionType(each) for each in signatures], Loops)
