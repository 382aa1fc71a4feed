"""Statistics of the demo, and the status line that shows them.

The status line is rewritten in place on a terminal. If the output is not a terminal, a new line is
printed periodically instead.
"""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from belated.progress import format_duration

RECENT_PATIENTS: Final = 200
"""Number of most recent patients for which the status line shows the mean return."""
TERMINAL_INTERVAL_S: Final = 0.5
"""Seconds between two updates of the status line on a terminal."""
OTHER_INTERVAL_S: Final = 10.0
"""Seconds between two lines if the output is not a terminal."""

COLUMN_WIDTHS: Final = (7, 8, 8, 9, 7, 7, 9, 18)


def _format_row(*cells: object) -> str:
    texts = (f"{cell:,}" if isinstance(cell, int) else f"{cell}" for cell in cells)
    return "".join(f"{text:>{width}}" for text, width in zip(texts, COLUMN_WIDTHS, strict=True))


HEADER: Final = _format_row(
    *("time", "opened", "back", "pending", "twice", "never", "version"),
    f"return, last {RECENT_PATIENTS}",
)
"""Column headings of the status line."""


@dataclass
class DemoStatistics:
    """Returns of the simulated patients, and counts of patients and feedback."""

    best: float
    """Expected return (sum of rewards) of an optimal policy."""
    returns: list[float] = field(default_factory=list)
    """Return (sum of rewards) of each patient, in order of arrival."""
    back: int = 0
    """Number of patients whose feedback was sent completely."""
    twice: int = 0
    """Number of patients whose feedback was sent twice, in whole or in part."""
    repeats: int = 0
    """Number of times that the service responded "already recorded"."""
    never: int = 0
    """Number of patients whose feedback will never be sent."""
    rejected: int = 0
    """Number of patients whose feedback was rejected, because another client withdrew or corrected
    the episode."""

    @property
    def opened(self) -> int:
        """Number of patients admitted so far, for each of whom an episode was opened."""
        return len(self.returns)

    @property
    def pending(self) -> int:
        """Number of patients whose feedback is not yet completely sent, but will be."""
        return self.opened - self.back - self.never - self.rejected

    def line(self, seconds: float, status: dict[str, Any]) -> str:
        """Return the status line, in the columns of `HEADER`.

        `seconds` is the time since the start. `status` is the status of the problem that the
        service reports.
        """
        version = status["serving"]["version"]
        cells = (self.opened, self.back, status["missing"], self.twice, self.never, version)
        recent = fmean(self.returns[-RECENT_PATIENTS:] or [0.0])
        return _format_row(format_duration(seconds), *cells, f"{recent:.2f} of {self.best:.2f}")

    def summary(self, pending: int) -> str:
        """Return a summary of the demo as a text of two lines.

        `pending` is the number of episodes in flight that the service reports.
        """
        if not self.returns:
            return "No patients."
        missing = f"{self.never:,} never sent"
        if self.pending:
            missing += f", {self.pending:,} not yet sent"
        if self.rejected:
            missing += f", {self.rejected:,} rejected"
        tenth = max(1, self.opened // 10)
        first, last = fmean(self.returns[:tenth]), fmean(self.returns[-tenth:])
        return (
            f"{self.opened:,} patients. Outcomes: {self.back:,} sent, {missing}; "
            f"the service reports {pending:,} pending. "
            f"{self.twice:,} were sent twice; {self.repeats:,} times the service responded "
            "'already recorded'.\n"
            f"Mean return: {first:.2f} for the first {tenth:,} patients, {last:.2f} for the last "
            f"{tenth:,}; optimal: {self.best:.2f}."
        )


class StatusLine:
    """Printer of a header and, below the header, of a status line that changes over time.

    Parameters
    ----------
    header : str
        Header, printed once above the status line.
    line : Callable[[float], str]
        Function that returns the text of the status line, given the seconds since the start.
    clock : Callable[[], float]
        Function that returns a monotonic time in seconds.
    """

    def __init__(
        self,
        header: str,
        line: Callable[[float], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._header: str | None = header  # None once printed
        self._line = line
        self._clock = clock
        self._in_place = sys.stdout.isatty()
        self._interval_s = TERMINAL_INTERVAL_S if self._in_place else OTHER_INTERVAL_S
        self._started = clock()
        self._next = self._started + self._interval_s

    def update(self) -> None:
        """Print the status line if enough time has passed since it was last printed."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._interval_s
        if self._header is not None:
            print(self._header)
            self._header = None
        text = self._line(now - self._started)
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[2K{text[:width]}", end="", flush=True)
        else:
            print(text, flush=True)

    def close(self) -> None:
        """End the status line, so that further output starts on a new line.

        If the output is not a terminal, nothing has to be done.
        """
        if self._in_place and self._header is None:
            print(flush=True)
