"""The notice that the engine is being compiled, which the first run of all waits for."""

import sys
from functools import cache
from typing import Any

from numba.core import event

ENGINE = "belated.simulation.engine"
SENTENCE = "Compiling the engine, about half a minute, once per installation…"


@cache
def announce_compilation() -> None:
    """Say so on stderr, once, if a run has to wait for the compiler.

    The compiler itself tells: it finds out whether the disk has what it needs, and is never
    asked where there is nothing to compile.
    """
    event.register("numba:compile", Notice(ENGINE))


class Notice(event.Listener):
    """Hears of everything that numba compiles, and speaks of one module alone."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.given = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__ == self.module and not self.given:
            self.given = True
            print(SENTENCE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing more to say."""
