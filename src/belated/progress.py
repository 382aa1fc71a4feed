"""How far long work has come: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

QUIET = 2.0
"""Seconds before anything is shown, so that nothing flashes for short work."""

BETWEEN_LINES = 5.0
"""Seconds between two lines, at least."""


@dataclass(frozen=True)
class Pace:
    """Episodes played, of how many, in how many seconds."""

    done: int
    total: int
    seconds: float

    @property
    def percent(self) -> int:
        """Rounded down: 100 means that everything is done."""
        return 100 * self.done // self.total

    @property
    def rate(self) -> str:
        """Episodes per second, so far."""
        return f"{self.done / self.seconds if self.seconds > 0 else 0:,.0f} episodes/s"

    @property
    def left(self) -> str:
        """The time left at this rate."""
        if self.done == 0:
            return "-:-- left"
        return f"{clock_face(self.seconds * (self.total - self.done) / self.done)} left"


def clock_face(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock_face(7), clock_face(3725.2)
    ('0:07', '1:02:05')
    """
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"


class Face(Protocol):
    """Where progress shows."""

    def show(self, pace: Pace) -> None:
        """Show how far it is."""

    def close(self, pace: Pace) -> None:
        """Show how far it came."""


class Bar:
    """A bar that redraws itself in place and goes when the work is over."""

    def __init__(self, title: str, pace: Pace) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}, {task.fields[left]}"),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self.task = self.progress.add_task(title, total=pace.total, rate="", left="")
        self.progress.start()

    def show(self, pace: Pace) -> None:
        self.progress.update(
            self.task, completed=pace.done, rate=pace.rate, left=pace.left, refresh=True
        )

    def close(self, pace: Pace) -> None:
        self.progress.stop()


class Lines:
    """A line every few seconds, for logs, and one at the end."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.next = 0.0

    def show(self, pace: Pace) -> None:
        if pace.seconds >= self.next:
            self.next = pace.seconds + BETWEEN_LINES
            self.say(
                f"{pace.done:,} of {pace.total:,} episodes, {pace.percent}%, "
                f"{pace.rate}, {pace.left}"
            )

    def close(self, pace: Pace) -> None:
        self.say(f"{pace.done:,} episodes in {clock_face(pace.seconds)}, {pace.rate}")

    def say(self, text: str) -> None:
        print(f"{self.title}: {text}", file=sys.stderr, flush=True)


class Progress:
    """Shows how far the work within a `with` has come.

    `shown` is True from the start, False never, and None once the work has lasted two seconds.
    """

    def __init__(
        self,
        title: str,
        *,
        total: int,
        shown: bool | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self.total = total
        self.shown = shown
        self.clock = clock
        self.face: Face | None = None

    def __enter__(self) -> Self:
        self.began = self.clock()
        self.update(0)
        return self

    def update(self, done: int) -> None:
        """So many episodes have been played by now."""
        self.pace = Pace(done, self.total, self.clock() - self.began)
        if self.face is None and (self.shown or (self.shown is None and self.pace.seconds > QUIET)):
            terminal = sys.stderr.isatty()
            self.face = Bar(self.title, self.pace) if terminal else Lines(self.title)
        if self.face is not None:
            self.face.show(self.pace)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.face is not None:
            self.face.close(self.pace)
