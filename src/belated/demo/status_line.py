"""Status line that is rewritten in place on a terminal.

If the output is not a terminal, a new line is printed periodically instead.
"""

import shutil
import sys
import time
from collections.abc import Callable
from typing import Final

TERMINAL_INTERVAL_S: Final = 0.5
"""Seconds between two updates of the status line on a terminal."""
OTHER_INTERVAL_S: Final = 10.0
"""Seconds between two lines if the output is not a terminal."""


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
