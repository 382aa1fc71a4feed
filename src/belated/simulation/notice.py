"""Message on stderr that the simulation engine is being compiled, which takes a while."""

import sys
from functools import cache
from typing import Any

from numba.core import event

ENGINE = "belated.simulation.engine"
MESSAGE = "Compiling the engine, about half a minute, once per installation…"


@cache
def announce_compilation() -> None:
    """Register a listener that prints a message to stderr when numba starts to compile the engine.

    The message is printed at most once. Nothing is printed if the compiled code is in the disk
    cache.
    """
    event.register("numba:compile", CompilationNotice(ENGINE))


class CompilationNotice(event.Listener):
    """Listener that prints `message` when numba compiles the first function of `module`.

    `module` is the name of a module or package.
    """

    def __init__(self, module: str, message: str = MESSAGE) -> None:
        self.module = module
        self.message = message
        self.printed = False

    def on_start(self, event: Any) -> None:
        """Print the message if `event` is the first compilation of a function of the module."""
        function = event.data["dispatcher"].py_func
        if f"{function.__module__}.".startswith(f"{self.module}.") and not self.printed:
            self.printed = True
            print(self.message, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Do nothing when the compilation described by `event` ends."""
