"""Compilation in a child process, so that a service answers meanwhile.

A thread that compiles stops every other thread for a third of a second at a time. A service
therefore never compiles by itself: its learners plan as plain Python, while a child process fills
the disk cache, one base after another. Only a plan that is too large for plain Python waits.

    python -m belated.learner.background     compiles the base that is pickled on stdin
"""

import logging
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from belated.compiled import budget
from belated.compiled.cache import folder
from belated.learner.bases.base import BaseAlgorithm

LOG = logging.getLogger(__name__)

NICENESS: Final = 10
"""Priority of the child process, so that it does not slow down requests."""

Request = tuple[BaseAlgorithm, threading.Event]

_requests: queue.Queue[Request | None] = queue.Queue()
_known: dict[BaseAlgorithm, threading.Event] = {}
_enabled = threading.Event()


@contextmanager
def compilation_in_background() -> Iterator[None]:
    """Return a context manager in which a child process compiles.

    It has no effect if there is no folder for the compiled code.
    """
    if folder() is None:
        yield
        return
    with budget.limited_to(budget.UNLIMITED):
        threading.Thread(target=_compile_requested, name="compiler", daemon=True).start()
        _enabled.set()
        try:
            yield
        finally:
            _enabled.clear()
            _known.clear()
            _requests.put(None)


def is_enabled() -> bool:
    """Return whether code is compiled in a child process."""
    return _enabled.is_set()


def request(base: BaseAlgorithm) -> threading.Event:
    """Let the child process compile `base`; return an event that is set when it has ended."""
    if base not in _known:
        _known[base] = threading.Event()
        _requests.put((base, _known[base]))
    return _known[base]


def _compile_requested() -> None:
    command = [sys.executable, "-m", "belated.learner.background"]
    while (request := _requests.get()) is not None:
        base, done = request
        try:
            subprocess.run(command, input=pickle.dumps(base), stderr=subprocess.DEVNULL)
        except (OSError, pickle.PicklingError, AttributeError, TypeError) as error:
            LOG.warning("The base %s is not compiled: %s", base.name, error)
        budget.check_disk_again()
        done.set()


def compile_base(base: BaseAlgorithm) -> None:
    """Compile all that a learner with `base` needs, by observing episodes of a small problem."""
    from belated.episode import Episode, Shape
    from belated.learner.learner import Learner
    from belated.learner.updaters import Lazy

    for rewards in (None, [[0.0, 1.0], [0.0, 0.0]]):
        with budget.limited_to(0):
            size = Shape(2, 2, 1)
            learner = Learner(size, base=base, updater=Lazy(2), rewards=rewards, episodes=10)
            learner.start(1)
            learner.observe(Episode(1, states=[0, 1], actions=[1], rewards=[1.0]))


def main() -> None:
    """Compile the base on stdin."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    compile_base(pickle.load(sys.stdin.buffer))


if __name__ == "__main__":
    main()
