"""Work that kernels may do as plain Python before anybody waits for the compiler.

A kernel gives the same bits as plain Python and compiled. Where its compiled code is not on disk,
it therefore begins as plain Python, and is compiled once all kernels of this process have done as
much work as takes a few seconds on a slow processor. The work is counted, never timed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

DEFAULT_LIMIT: Final = 300_000
"""Work that all kernels of this process may do as plain Python, about three seconds. The unit is
the backup of one row, or one step of an episode."""

UNLIMITED: Final = 1 << 62
"""Work that no kernel exceeds."""

MAX_CALL: Final = 20_000
"""Largest work of one call, or of one plan, that is not compiled first."""

_limit = DEFAULT_LIMIT
_spent = 0
_checks = 0


def remaining() -> int:
    """Return the work that may still be done as plain Python."""
    return max(0, _limit - _spent)


def spend(work: int) -> None:
    """Count work that was done as plain Python."""
    global _spent
    _spent += work


def checks() -> int:
    """Return a number that changes whenever new code may be on disk."""
    return _checks


def check_disk_again() -> None:
    """Let all kernels look for compiled code on disk when they run the next time."""
    global _checks
    _checks += 1


@contextmanager
def limited_to(work: int) -> Iterator[None]:
    """Return a context manager in which `work` may be done as plain Python."""
    global _limit, _spent
    before = _limit, _spent
    _limit, _spent = work, 0
    try:
        yield
    finally:
        _limit, _spent = before
