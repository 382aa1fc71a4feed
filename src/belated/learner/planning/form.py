"""Form in which kernels run: plain Python at first, if nothing is compiled yet, then compiled.

Both forms work on the same record and give the same bits, so that the form can change between two
calls. See `belated.compiled.budget`.

Functions of a user are compiled for every result, because their two forms may differ in the last
bit. Their first plans are rehearsed as plain Python and discarded: compiled code continues with a
wrong index, and the messages of a compiler are about types, where Python raises its own error.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from belated.compiled import JIT, as_plain, budget, is_ready
from belated.compiled.budget import UNLIMITED
from belated.learner.backup import as_backup
from belated.learner.bases.base import BackupRule
from belated.learner.compile_errors import CompilationError
from belated.learner.planning.loops import (
    Loops,
    has_loops,
    is_built_in,
    loops_of,
    plain_loops,
)
from belated.learner.state import LearnerRecord

F = TypeVar("F", bound=Callable[..., Any])


class Form:
    """Form in which some kernels run with the functions of a base.

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
        self._checked = budget.checks()
        small = rows <= budget.MAX_CALL
        may_be_plain = JIT and built_in and small and is_built_in(as_backup(rule.backup))
        self.is_plain = may_be_plain and not self.is_ready()

    def kernel(self, kernel: F) -> F:
        """Return a kernel in this form."""
        return as_plain(kernel) if self.is_plain else kernel

    def pick(self, plain: Any, compiled: Callable[[], Any]) -> Any:
        """Return `plain` in the plain form, else the result of `compiled`."""
        return plain if self.is_plain else compiled()

    def loops(self, record: LearnerRecord) -> Loops:
        """Return the functions of the base in this form; `record` is that of the learner."""
        return plain_loops(self._rule) if self.is_plain else loops_of(self._rule, record)

    def limit(self) -> int:
        """Return the work, counted in `Scratch.work`, at which the form may change."""
        return self._counted + budget.remaining() if self.is_plain else UNLIMITED

    def count(self, work: int) -> None:
        """Take note of the `work` done so far, counted in `Scratch.work`; the form may change."""
        if self.is_plain:
            budget.spend(work - self._counted)
            self._counted = work
            self.is_plain = budget.remaining() > 0
            if self._checked != budget.checks():
                self._checked = budget.checks()
                self.is_plain = self.is_plain and not self.is_ready()

    def is_ready(self) -> bool:
        """Return whether nothing needs to be compiled."""
        return all(map(is_ready, self._kernels)) and has_loops(as_backup(self._rule.backup))


REHEARSED_PLANS: Final = 3
"""Number of plans that are rehearsed for each function."""

_rehearsed: Counter[Callable[..., Any]] = Counter()


def unrehearsed(functions: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return those functions of a user that still need a rehearsal.

    `functions` maps "backup" or "trigger" to a `Backup` or a `Trigger`.
    """
    found = {kind: each.function for kind, each in functions.items() if JIT and each.compiled}
    return {
        kind: function
        for kind, function in found.items()
        if not function.__module__.startswith("belated.") and _rehearsed[function] < REHEARSED_PLANS
    }


@contextmanager
def rehearse(functions: Mapping[str, Callable[..., Any]], plans: int) -> Iterator[None]:
    """Return a context manager in whose body `plans` plans are rehearsed as plain Python.

    An ArithmeticError or a ValueError is ignored, because compiled code continues with inf or nan.
    Any other error in one of the `functions` becomes a CompilationError that names the line.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, ValueError):  # such as 1 / 0 and math.log(0)
        pass
    except Exception as error:
        trace = error.__traceback__
        while trace is not None:
            for kind, function in functions.items():
                if trace.tb_frame.f_code is function.__code__:
                    file = Path(function.__code__.co_filename).name
                    raise CompilationError(
                        f"The {kind} {function.__name__} fails: {type(error).__name__}: {error} "
                        f"({file}, line {trace.tb_lineno})."
                    ) from error
            trace = trace.tb_next
        raise
    _rehearsed.update(dict.fromkeys(functions.values(), plans))
