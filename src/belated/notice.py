"""Message on stderr that the engine or a planner is being compiled, which takes a while."""

import sys
from functools import cache
from typing import Any

from numba.core import event

MODULES = ("belated.simulation.engine", "belated.learner.updating")
"""Names of the modules whose functions take long to compile: the engine and the planner."""

MESSAGE = "Compiling the engine, about half a minute, once per installation…"


@cache
def announce_compilation() -> None:
    """Register a listener that prints a message to stderr when numba starts to compile
    a function of `MODULES`.

    The message is printed at most once. Nothing is printed if the compiled code is in the disk
    cache.
    """
    event.register("numba:compile", CompilationNotice(*MODULES))


class CompilationNotice(event.Listener):
    """Listener that prints a message when numba first compiles a function of one of some modules.

    `modules` are the names of these modules.
    """

    def __init__(self, *modules: str) -> None:
        self.modules = modules
        self.printed = False

    def on_start(self, event: Any) -> None:
        """Print the message if a function of `modules` is compiled, unless it was printed before.

        `event` describes the compilation.
        """
        function = event.data["dispatcher"].py_func
        if function.__module__ in self.modules and not self.printed:
            self.printed = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Do nothing when the compilation described by `event` ends."""
