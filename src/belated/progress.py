"""Progress display: a bar on a terminal or in a notebook, otherwise a line every few seconds.

A line is not repeated while nothing changes. The lines and the bar of a terminal are written to
stderr; a notebook shows the bar as output.
"""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

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
        self.title = title
        self.total = total
        self.unit = unit
        self.done = 0
        self._clock = clock
        self._next_s = SHOW_AFTER_S if shown is None else (0.0 if shown else math.inf)
        self._visible = False
        self._printed = ""  # last line
        self._bar: Bar | None = None
        self._began_s = 0.0  # last time at which no work was done

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
        seconds = self._clock() - self._start
        left_s = self.estimate_left(
            seconds, min(done, self.total) / max(self.total, 1) if share is None else share
        )
        if seconds < self._next_s:
            return
        if not self._visible:
            self._visible = True
            self._bar = _start_bar(self.title, self.total)
        shown = min(done, self.total)
        rate = format_rate(shown, seconds, self.unit)
        left = f"{'-:--' if left_s is None else format_duration(left_s)} left"
        if self._bar is not None:
            self._next_s = seconds + self._bar.every_s
            self._bar.update(shown, f"{rate}, {left}")
        else:
            self._next_s = seconds + LINE_EVERY_S
            percent = 100 * shown // max(self.total, 1)  # rounded down: 100 % means done
            text = f"{shown:,} of {self.total:,} {self.unit}, {percent}%, {rate}, {left}"
            if text != self._printed:  # the same while nothing is done, such as during compilation
                self._print(text)

    def estimate_left(self, seconds: float, share: float) -> float | None:
        """Return the remaining time in seconds, or None if too little is done for an estimate.

        `seconds` is the time since the start, and `share` the share of the work that is done, in
        [0, 1]. The work is assumed to have a constant rate.
        """
        if share <= 0:
            self._began_s = seconds
        return (seconds - self._began_s) * (1 / share - 1) if share >= MIN_SHARE else None

    def advance(self, units: int = 1) -> None:
        """Add `units` to the number of finished units; the display is updated as by `update`."""
        self.update(self.done + units)

    def track(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the elements of `items`, counting each as one finished unit."""
        for item in items:
            self.advance()
            yield item

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = self._clock() - self._start
        rate = format_rate(self.done, seconds, self.unit)
        if self._bar is not None:
            self._bar.stop(min(self.done, self.total), f"{format_duration(seconds)}, {rate}")
        elif self._visible:
            self._print(f"{self.done:,} {self.unit} in {format_duration(seconds)}, {rate}")

    def _print(self, text: str) -> None:
        self._printed = text
        print(f"{self.title}: {text}", file=sys.stderr, flush=True)


def format_duration(seconds: float) -> str:
    """Return a duration in `seconds` as text with hours, minutes and seconds.

    >>> format_duration(7), format_duration(3725.2)
    ('0:07', '1:02:05')
    """
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"


def format_rate(done: int, seconds: float, unit: str) -> str:
    """Return the mean rate of work as text.

    Parameters
    ----------
    done : int
        Number of finished units.
    seconds : float
        Duration of the work, in seconds; 0 gives a rate of 0.
    unit : str
        Name of the units in the plural.

    Returns
    -------
    str
        Rate, such as "1,250 episodes/s".
    """
    return f"{done / seconds if seconds > 0 else 0:,.0f} {unit}/s"


class Bar:
    """Progress bar on a terminal, which is removed at the end, or in the output of a notebook cell.

    In a notebook, the library rich renders the bar as HTML, which replaces what is displayed by
    means of the display id of IPython, so that no notebook widgets are needed.

    Parameters
    ----------
    progress : rich.progress.Progress
        Object of the library rich that draws the bar.
    task : TaskID
        Id of the task in `progress` whose progress is shown.
    notebook : bool
        Whether the bar is shown in a notebook.
    """

    def __init__(self, progress: "RichProgress", task: "TaskID", *, notebook: bool) -> None:
        self.progress = progress
        self.task = task
        self.every_s = NOTEBOOK_EVERY_S if notebook else BAR_EVERY_S
        self.output: Any = None
        if notebook:
            from IPython.display import display

            show: Any = display  # not typed in every version
            self.output = show(progress, display_id=True)
        else:
            progress.start()

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


def _start_bar(title: str, total: int) -> Bar | None:
    """Start a progress bar for `total` units of work, labelled `title`, and return the bar.

    Return None if the output is neither a terminal nor a notebook.
    """
    terminal = sys.stderr.isatty()
    if not terminal and "IPython" not in sys.modules:
        return None
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as RichProgress

    notebook = Console().is_jupyter
    if not terminal and not notebook:
        return None
    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f}%"),  # without a colour, for dark pages
        TextColumn("{task.fields[text]}"),
        console=Console(stderr=True, force_jupyter=False),
        auto_refresh=False,
        transient=True,
    )
    task = bar.add_task(title, total=total, text="")
    return Bar(bar, task, notebook=notebook)
