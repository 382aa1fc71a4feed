"""A message on stderr while the simulation engine is being compiled for the first time."""

import sys
from functools import cache
from typing import Any

from numba.core import event

ENGINE = "belated.simulation.engine"
MESSAGE = "Compiling the engine, about half a minute, once per installation…"


@cache
def announce_compilation() -> None:
    """Print a message to stderr, once, when numba starts to compile the engine.

    Nothing is printed if all compiled code is found in the disk cache.
    """
    event.register("numba:compile", CompilationNotice(ENGINE))


class CompilationNotice(event.Listener):
    """Listener to numba's compile events that prints a message for the first one of `module`."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.printed = False

    def on_start(self, event: Any) -> None:
        """Print the message if the compile `event` is the first one of the module."""
        function = event.data["dispatcher"].py_func
        if function.__module__ == self.module and not self.printed:
            self.printed = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Ignore the end of a compile `event`."""
