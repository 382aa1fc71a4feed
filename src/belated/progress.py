"""Progress display: a bar on a terminal or in a notebook, otherwise a line every few seconds.

A line is not repeated while nothing changes. The lines and the bar of a terminal are written to
stderr; a notebook shows the bar as output.
"""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self, TypeVar

SHOW_AFTER_S: Final = 2.0
"""Seconds from the start of a task until its progress is shown. Shorter tasks show none."""

BAR_EVERY_S: Final = 0.1
"""Minimum number of seconds between two updates of the bar on a terminal."""

NOTEBOOK_EVERY_S: Final = 0.5
"""Minimum number of seconds between two updates of the bar in a notebook. It is longer than on a
terminal, because each update is sent as a message."""

LINE_EVERY_S: Final = 5.0
"""Minimum number of seconds between two lines of progress."""

MIN_SHARE: Final = 0.01
"""Share of the work, in [0, 1], that must be done before the remaining time is estimated."""

T = TypeVar("T")


class Progress:
    """Context manager that shows the progress of a task, in a notebook or on stderr.

    Parameters
    ----------
    title : str
        Name of the task, shown in front of the numbers.
    total : int
        Expected number of units of work.
    unit : str
        Name of the units in the plural, such as "episodes" or "rows".
    shown : bool or None
        True shows progress from the start, False never, and None after `SHOW_AFTER_S` seconds.
    clock : callable
        Function that returns the current time in seconds.
    """

    def __init__(
        self,
        title: str,
        *,
        total: int,
        unit: str = "episodes",
        shown: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.done = 0
        self._clock = clock
        self._next_s = SHOW_AFTER_S if shown is None else (0.0 if shown else math.inf)
        self._began_s = 0.0  # last time at which no work was done
        self._display: Lines | Bar | None = None

    def __enter__(self) -> Self:
        self._start = self._clock()
        self.update(0)
        return self

    def update(self, done: int, share: float | None = None) -> None:
        """Set the number of finished units to `done`.

        The remaining time is estimated from `share`, the share of the work that is done, in [0, 1].
        By default it is `done` divided by the total; pass another value if units take different
        times. The time before the first unit is done, such as that of compilation, is not counted.
        The display is updated if enough time has passed since its last update.
        """
        self.done = done
        shown, seconds = min(done, self.total), self._clock() - self._start
        share = shown / max(self.total, 1) if share is None else share
        if share <= 0:
            self._began_s = seconds
        if seconds < self._next_s:
            return
        left = "-:--"
        if share >= MIN_SHARE:
            left = format_duration((seconds - self._began_s) * (1 / share - 1))
        if self._display is None:
            self._display = open_display(self.title, self.total, self.unit)
        self._display.update(shown, f"{self._format_rate(shown, seconds)}, {left} left")
        self._next_s = seconds + self._display.every_s

    def advance(self, units: int = 1) -> None:
        """Add `units` to the number of finished units; the display is updated as by `update`."""
        self.update(self.done + units)

    def track(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the elements of `items`, counting each as one finished unit."""
        for item in items:
            self.advance()
            yield item

    def __exit__(self, *exception: object) -> None:
        seconds = self._clock() - self._start
        text = f"{format_duration(seconds)}, {self._format_rate(self.done, seconds)}"
        if self._display is not None:
            self._display.stop(self.done, text)

    def _format_rate(self, done: int, seconds: float) -> str:
        return f"{done / seconds if seconds > 0 else 0:,.0f} {self.unit}/s"


def format_duration(seconds: float) -> str:
    """Return a duration in `seconds` as text with hours, minutes and seconds.

    >>> format_duration(7), format_duration(3725.2)
    ('0:07', '1:02:05')
    """
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"


class Lines:
    """Progress as lines on stderr.

    Parameters
    ----------
    title : str
        Name of the task.
    total : int
        Number of units of work.
    unit : str
        Name of the units in the plural.
    """

    every_s = LINE_EVERY_S
    """Minimum number of seconds between two updates."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title, self.total, self.unit = title, total, unit
        self._last = ""

    def update(self, done: int, text: str) -> None:
        """Print the number `done` of finished units, with a `text`, unless nothing has changed."""
        percent = 100 * done // max(self.total, 1)  # rounded down: 100 % means done
        line = f"{done:,} of {self.total:,} {self.unit}, {percent}%, {text}"
        if line != self._last:  # the same while nothing is done, such as during compilation
            self._print(line)
        self._last = line

    def stop(self, done: int, text: str) -> None:
        """Print the number `done` of finished units, with a `text`, at the end of the task."""
        self._print(f"{done:,} {self.unit} in {text}")

    def _print(self, text: str) -> None:
        print(f"{self.title}: {text}", file=sys.stderr, flush=True)


class Bar:
    """Progress bar on a terminal, which is removed at the end, or in the output of a notebook cell.

    In a notebook, the library rich renders the bar as HTML, which replaces what is displayed by
    means of the display id of IPython, so that no notebook widgets are needed.

    Parameters
    ----------
    title : str
        Name of the task.
    total : int
        Number of units of work.
    notebook : bool
        Whether the bar is shown in a notebook.
    """

    def __init__(self, title: str, total: int, *, notebook: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self.every_s = NOTEBOOK_EVERY_S if notebook else BAR_EVERY_S
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn("{task.percentage:>3.0f}%"),  # without a colour, for dark pages
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True, force_jupyter=False),
            auto_refresh=False,
            transient=True,
        )
        self.task = self.progress.add_task(title, total=total, text="")
        self.output: Any = None
        if notebook:
            from IPython.display import display

            show: Any = display  # not typed in every version
            self.output = show(self.progress, display_id=True)
        else:
            self.progress.start()

    def update(self, done: int, text: str) -> None:
        """Show `done` finished units, with a `text` beside the bar."""
        self.progress.update(self.task, completed=done, text=text, refresh=self.output is None)
        if self.output is not None:
            self.output.update(self.progress)

    def stop(self, done: int, text: str) -> None:
        """Remove the bar; in a notebook, show its final state instead, as `update` does."""
        if self.output is None:
            self.progress.stop()
        else:
            self.update(done, text)


def open_display(title: str, total: int, unit: str) -> Lines | Bar:
    """Return a bar if the output is a terminal or a notebook, and otherwise lines.

    The parameters are those of `Lines`.
    """
    terminal = sys.stderr.isatty()
    if terminal or "IPython" in sys.modules:
        from rich.console import Console

        notebook = Console().is_jupyter
        if terminal or notebook:
            return Bar(title, total, notebook=notebook)
    return Lines(title, total, unit)
