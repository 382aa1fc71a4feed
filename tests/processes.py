"""Processes that run a program, with modules that were imported before the process was forked.

To import the service takes two seconds of CPU time in every new interpreter. Here, one process per
session imports it, and the processes of tests are forked from that process.
"""

import multiprocessing
import os
import sys
import threading
import warnings
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

TIMEOUT_S = 120.0
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["preloaded"])


@cache
def start_server() -> None:
    """Start the process from which others are forked; it finds modules where this process does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()


class Program:
    """Process that executes Python code, with pipes to its standard input and output.

    Parameters
    ----------
    code : str
        Python code to execute. Warnings are errors.
    arguments : str
        Elements of `sys.argv` after the first.
    stderr : Path, optional
        File to which standard error is appended; by default, it is that of the tests.
    """

    def __init__(self, code: str, *arguments: str, stderr: Path | None = None) -> None:
        start_server()
        given, self._given = CONTEXT.Pipe(duplex=False)
        self._printed, printed = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(
            target=execute, args=(code, arguments, given, printed, stderr), daemon=True
        )
        self._process.start()
        given.close()
        printed.close()
        self.stdin = os.fdopen(self._given.fileno(), "w", closefd=False)
        self.stdout = os.fdopen(self._printed.fileno(), closefd=False)

    @property
    def pid(self) -> int:
        """Id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def is_alive(self) -> bool:
        """Return whether the process has not ended yet."""
        return self._process.is_alive()

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill the process by SIGKILL and wait for its end."""
        self._process.kill()
        self._process.join()

    def end(self) -> tuple[int, str]:
        """End its standard input; return its exit code and the rest of its standard output.

        The process is killed if it does not end within `TIMEOUT_S`.
        """
        self.stdin.close()
        self._given.close()
        killer = threading.Timer(TIMEOUT_S, self._process.kill)
        killer.start()
        printed = self.stdout.read()
        self._process.join()
        killer.cancel()
        assert self._process.exitcode is not None
        return self._process.exitcode, printed


def execute(
    code: str,
    arguments: tuple[str, ...],
    given: Connection,
    printed: Connection,
    stderr: Path | None,
) -> None:
    """Execute `code` in this process with these standard streams."""
    os.dup2(given.fileno(), 0)
    os.dup2(printed.fileno(), 1)
    if stderr is not None:
        with stderr.open("a") as file:
            os.dup2(file.fileno(), 2)
    given.close()
    printed.close()
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.argv[1:] = arguments
    warnings.simplefilter("error")
    exec(code, {"__name__": "__main__"})
