"""Count: how many rows have gone by, shown once that has lasted two seconds."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from belated.progress import BETWEEN_LINES, QUIET, Pace

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


class Count:
    """A bar on a terminal, now and then a line elsewhere; `total` is what to expect."""

    def __init__(
        self, title: str, total: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self._clock = clock
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        self._began = self._clock()
        self._next = self._began + QUIET
        return self

    def add(self, more: int = 1) -> None:
        """So many more have gone by."""
        self.done += more
        now = self._clock()
        if now < self._next:
            return
        if not sys.stderr.isatty():
            self._next = now + BETWEEN_LINES
            self._say(now - self._began)
            return
        self._next = now + 0.1
        if self._bar is None:
            self._bar = bar()
            self._task = self._bar.add_task(self.title, total=self.total)
            self._bar.start()
        self._bar.update(self._task, completed=min(self.done, self.total), refresh=True)

    def over(self, things: Iterable[T]) -> Iterator[T]:
        """The same things, counted as they go by."""
        for one in things:
            self.add()
            yield one

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _say(self, seconds: float) -> None:
        pace = Pace(min(self.done, self.total), self.total, seconds)
        done = f"{pace.done:,} of {pace.total:,} rows"
        print(f"{self.title}: {done}, {pace.left}", file=sys.stderr, flush=True)


def bar() -> "Progress":
    """A bar that goes when the work is over."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
