"""Process of `belated serve`, and requests to it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Self

BELATED = Path(sys.executable).with_name("belated")
START_TIMEOUT_S = 120
REQUEST_TIMEOUT_S = 60

CLINIC: dict[str, Any] = {
    "name": "clinic",
    "states": ["ill", "well"],
    "actions": ["wait", "treat"],
    "horizon": 3,
    "rewards": None,
    "base": {"name": "ucrl2", "options": {"scale": 0.1}},
    "updater": {"name": "lazy", "options": {"alpha": 10}},
    "episodes": 20_000,
}
"""Definition of the problem that is attacked."""

PLAYED: dict[str, Any] = {"states": [0, 0, 1, 1], "actions": [0, 0, 1], "rewards": [0, 0.5, 1]}
"""Feedback of one of its episodes."""


@dataclass(frozen=True)
class Response:
    """Response to a request."""

    status: int
    """HTTP status; 0 if there was no response."""
    headers: Mapping[str, str]
    """Headers, with names in lower case."""
    content: bytes
    """Body."""
    seconds: float
    """Time from the connection to the last byte."""

    @property
    def json(self) -> Any:
        """Body as a JSON value."""
        return json.loads(self.content)


class Service:
    """Process of `belated serve` that can be stopped, killed and restarted.

    Parameters
    ----------
    store : str
        Address of the store.
    log : Path
        File to which the log is appended, in JSON.
    options : sequence of str
        Further options of the command.
    environment : mapping, optional
        Environment variables to add.
    prepare : callable, optional
        Function that is called in the new process before the command starts.
    """

    def __init__(
        self,
        store: str,
        log: Path,
        options: Sequence[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._command = [str(BELATED), "serve", "--port", "0", "--log-format", "json", *options]
        # in the environment, so that a password is not in the list of processes
        self._environment = {**os.environ, "BELATED_STORE": store, **(environment or {})}
        self._prepare = prepare
        self._process: subprocess.Popen[str] | None = None
        self.log = log
        """File of the log."""
        self.port = 0
        """Local port; another one after each start."""
        self.token: str | None = None
        """Token of all requests."""

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative if a signal ended the process; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def start(self, *, wait: bool = True) -> Self:
        """Start the process; return when it is ready, or already when it listens."""
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environment,
                preexec_fn=self._prepare,
            )
        assert self._process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)", self._process.stdout.readline())
        if address is None:
            code = self._process.wait()
            raise RuntimeError(f"The service did not start: exit code {code}; {self._last_line()}")
        self.port = int(address[1])
        if wait:
            wait_until(lambda: self.try_ask("GET", "/readyz").status == 200, START_TIMEOUT_S)
        return self

    def stop(self) -> None:
        """Ask the process to end, and wait for it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once, by SIGKILL."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the process by SIGSTOP until the end of the block."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> Response:
        """Send a request on a connection of its own.

        Parameters
        ----------
        method, path : str
            HTTP method and path.
        body : object
            Body: bytes, or a JSON value; None for no body.
        headers : mapping, optional
            Headers to add.
        timeout_s : float
            Seconds without a byte after which OSError is raised.

        Returns
        -------
        Response
            The response.

        Raises
        ------
        OSError or HTTPException
            If there is no response.
        """
        start = time.perf_counter()
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, path, data, {**sent, **(headers or {})})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, names, content, time.perf_counter() - start)

    def try_ask(self, method: str, path: str, body: Any = None, **options: Any) -> Response:
        """Send a request as `ask` does; the status is 0 if there is no response."""
        start = time.perf_counter()
        try:
            return self.ask(method, path, body, **options)
        except (OSError, HTTPException):
            return Response(0, {}, b"", time.perf_counter() - start)

    def define(self, name: str = "clinic", **changes: Any) -> None:
        """Define a problem."""
        self._must("POST", "/v1/problems", {**CLINIC, "name": name, **changes})

    def open(self, problem: str = "clinic", **body: Any) -> str:
        """Open an episode of `problem` and return its id."""
        return str(self._must("POST", f"/v1/problems/{problem}/episodes", body).json["episode"])

    def send_feedback(self, episode: str, **changes: Any) -> Response:
        """Send the feedback of an episode, and return the response."""
        return self.try_ask("POST", f"/v1/episodes/{episode}/feedback", {**PLAYED, **changes})

    def status(self, problem: str = "clinic") -> Any:
        """Return the status of a problem."""
        return self._must("GET", f"/v1/problems/{problem}/status").json

    def _must(self, method: str, path: str, body: Any = None) -> Response:
        response = self.ask(method, path, body)
        if response.status not in (200, 201):
            raise RuntimeError(f"{method} {path} got {response.status}: {response.content[:200]!r}")
        return response

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the lines of the log; a line that is not JSON has only a message."""
        return [parse_line(line) for line in self.log.read_text().splitlines()]

    def count_logged(self, **fields: Any) -> int:
        """Return the number of lines in the log with these fields; `message` is a part of it."""
        part = fields.pop("message", "")
        return sum(
            fields.items() <= line.items() and part in line["message"] for line in self.log_lines()
        )

    def _last_line(self) -> str:
        lines = self.log.read_text().splitlines()
        return lines[-1][:300] if lines else "the log is empty"


def parse_line(line: str) -> dict[str, Any]:
    """Return a line of the log as a dictionary."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) and "message" in found else {"message": line}


def wait_until(condition: Callable[[], bool], timeout_s: float, pause_s: float = 0.02) -> float:
    """Wait until `condition` holds.

    Parameters
    ----------
    condition : Callable
        Function that returns whether it holds.
    timeout_s : float
        Seconds after which RuntimeError is raised.
    pause_s : float
        Seconds between two calls.

    Returns
    -------
    float
        Number of seconds waited.
    """
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() - start > timeout_s:
            raise RuntimeError(f"A condition did not hold within {timeout_s:g} s.")
        time.sleep(pause_s)
    return time.perf_counter() - start
