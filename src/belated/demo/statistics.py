"""Statistics of the demo, formatted as a status line and as a summary."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from belated.progress import format_duration

RECENT_PATIENTS: Final = 200
"""Number of most recent patients for which the status line shows the mean return."""
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
        recent = mean(self.returns[-RECENT_PATIENTS:])
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
        first, last = mean(self.returns[:tenth]), mean(self.returns[-tenth:])
        return (
            f"{self.opened:,} patients. Outcomes: {self.back:,} sent, {missing}; "
            f"the service reports {pending:,} pending. "
            f"{self.twice:,} were sent twice; {self.repeats:,} times the service responded "
            "'already recorded'.\n"
            f"Mean return: {first:.2f} for the first {tenth:,} patients, {last:.2f} for the last "
            f"{tenth:,}; optimal: {self.best:.2f}."
        )


def mean(values: Sequence[float]) -> float:
    """Return the mean of `values`, or 0 if there are none."""
    return sum(values) / len(values) if values else 0.0
