"""Tally: what has happened so far, as the clinic knows it, in numbers and in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from belated.progress import format_duration

LATELY: Final = 200
"""How many patients the live line averages over."""


def _set(*cells: object) -> str:
    """Cells of the live line, in columns."""
    widths = (7, 8, 8, 9, 7, 7, 9, 18)
    texts = (f"{cell:,}" if isinstance(cell, int) else f"{cell}" for cell in cells)
    return "".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))


HEADER: Final = _set(
    "time", "opened", "back", "pending", "twice", "never", "version", f"return, last {LATELY}"
)


@dataclass
class Tally:
    """Counts of patients; `best` is what one is worth on average, at best."""

    best: float
    totals: list[float] = field(default_factory=list)
    """What each patient was worth, in the order in which they came."""
    back: int = 0
    """Outcomes that were sent whole."""
    twice: int = 0
    """Outcomes of which something was sent twice."""
    repeats: int = 0
    """How often the service had it already."""
    never: int = 0
    """Outcomes that never will be sent."""
    refused: int = 0
    """Those that the service did not take, because somebody withdrew or corrected them."""

    @property
    def opened(self) -> int:
        """Patients who came."""
        return len(self.totals)

    @property
    def coming(self) -> int:
        """Outcomes that are on their way."""
        return self.opened - self.back - self.never - self.refused

    def line(self, seconds: float, status: dict[str, Any]) -> str:
        """How it stands by the clinic's own count and the service's, below `HEADER`."""
        version = status["serving"]["version"]
        cells = (self.opened, self.back, status["missing"], self.twice, self.never, version)
        lately = mean(self.totals[-LATELY:])
        return _set(format_duration(seconds), *cells, f"{lately:.2f} of {self.best:.2f}")

    def summary(self, pending: int) -> str:
        """How it went, in two lines; `pending` is what the service says."""
        if not self.totals:
            return "Nobody came."
        missing = f"{self.never:,} never sent"
        if self.coming:
            missing += f", {self.coming:,} on their way"
        if self.refused:
            missing += f", {self.refused:,} refused"
        tenth = max(1, self.opened // 10)
        first, last = mean(self.totals[:tenth]), mean(self.totals[-tenth:])
        return (
            f"{self.opened:,} patients: {self.back:,} back, {missing}; "
            f"the service has {pending:,} pending. "
            f"{self.twice:,} sent twice, {self.repeats:,} answered 'already recorded'.\n"
            f"Mean return: {first:.2f} of the first {tenth:,}, {last:.2f} of the last {tenth:,}; "
            f"the best that can be expected is {self.best:.2f}."
        )


def mean(numbers: Sequence[float]) -> float:
    """Their mean; 0 of none."""
    return sum(numbers) / len(numbers) if numbers else 0.0
