"""Live: one line that says how things stand, in place on a terminal, now and then elsewhere."""

import shutil
import sys
import time
from collections.abc import Callable
from typing import Final

IN_PLACE: Final = 0.5
"""Seconds between two looks on a terminal."""
ELSEWHERE: Final = 10.0
"""And where each is a line of its own."""


class Live:
    """Shows what `line` says of the seconds since it began, whenever it is time to."""

    def __init__(
        self,
        header: str,
        line: Callable[[float], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._header: str | None = header
        self._line = line
        self._clock = clock
        self._in_place = sys.stdout.isatty()
        self._between = IN_PLACE if self._in_place else ELSEWHERE
        self._began = clock()
        self._next = self._began + self._between

    def look(self) -> None:
        """Show how it stands, unless that was shown a moment ago."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._between
        if self._header is not None:
            print(self._header)
            self._header = None
        text = self._line(now - self._began)
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[2K{text[:width]}", end="", flush=True)
        else:
            print(text, flush=True)

    def close(self) -> None:
        """Leave the last one, and go on below it."""
        if self._in_place and self._header is None:
            print(flush=True)
