"""Form in which kernels run: plain Python at first, if nothing is compiled yet, then compiled.

Both forms work on the same record and give the same bits, so that the form can change between two
calls. See `belated.compiled.budget`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from belated.compiled import JIT, as_plain, budget, is_ready
from belated.compiled.budget import UNLIMITED
from belated.learner.backup import as_backup
from belated.learner.bases.base import BackupRule
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
