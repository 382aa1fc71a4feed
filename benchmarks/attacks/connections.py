"""Attacks with connections that need no token: endless heads, half requests, idle connections."""

import resource
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from attacks.client import Watcher, format_statuses
from attacks.registry import SQLITE, Finding, attack
from attacks.service import Service, wait_until
from attacks.testbed import Testbed

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
HALF_BODY = (
    b"POST /v1/problems HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)
ENDLESS_BYTES = 150 << 20
ENDLESS_CONNECTIONS = 50
MAX_ACCEPTED_BYTES = 8 << 20
"""Bytes that may be sent before the service closes: its limit, and what the sockets buffer."""
MAX_WAIT_S = 2.0
"""Longest time that an honest client may wait during the attack."""
HALF_REQUESTS = 600
"""More than the 500 requests that may be in progress."""
OPEN_FILES = 1024
IDLE_CONNECTIONS = 1100
HEAD_TIMEOUT_S = 10.0
OBSERVATION_S = 3.0
"""Time for which another client is observed while connections stay open."""
NOBODY = {"Authorization": "none"}


@attack("Endless header", stores=(SQLITE,))
def endless_header(testbed: Testbed) -> Iterator[Finding]:
    """Send one header that does not end."""
    yield from send_endless_head(testbed, HEAD + b"X-Endless: ", b"x" * 65536)


@attack("Endless URL", stores=(SQLITE,))
def endless_url(testbed: Testbed) -> Iterator[Finding]:
    """Send a URL that does not end."""
    yield from send_endless_head(testbed, b"GET /", b"x" * 65536)


@attack("Endless number of headers", stores=(SQLITE,))
def endless_headers(testbed: Testbed) -> Iterator[Finding]:
    """Send small headers without end."""
    yield from send_endless_head(testbed, HEAD, b"X-Many: 1\r\n" * 6000)


@attack("Half-sent heads", stores=(SQLITE,))
def half_sent_heads(testbed: Testbed) -> Iterator[Finding]:
    """Send half a head on each of many connections, until the service has closed them."""
    with serve_with_token(testbed) as service, ExitStack() as stack:
        with Watcher(service) as watcher:
            start = time.perf_counter()
            for half in send_halves(service, HEAD, stack):
                read_all(half)
            seconds = time.perf_counter() - start
        logged = service.count_logged(message="Head of a request not complete within")
    limit = HEAD_TIMEOUT_S + MAX_WAIT_S
    yield Finding(
        f"{HALF_REQUESTS} connections",
        f"closed within {limit:g} s; others wait at most {MAX_WAIT_S:g} s; logged",
        f"all closed after {seconds:.1f} s; {describe(watcher)}; {logged} log lines",
        seconds <= limit and is_served(watcher) and logged > 0,
    )


@attack("Half-sent bodies without a token", stores=(SQLITE,))
def half_sent_bodies(testbed: Testbed) -> Iterator[Finding]:
    """Send the beginning of a body on each of many connections, to a service with tokens."""
    with (
        serve_with_token(testbed) as service,
        ExitStack() as stack,
        Watcher(service) as watcher,
    ):
        halves = send_halves(service, HALF_BODY, stack)
        answers = Counter(half.recv(65536)[9:12].decode() for half in halves)
        time.sleep(OBSERVATION_S)
    yield Finding(
        f"{HALF_REQUESTS} connections; 500 requests may be in progress",
        f"401 before the body is read; others wait at most {MAX_WAIT_S:g} s",
        f"{format_statuses(answers)}; {describe(watcher)}",
        set(answers) == {"401"} and is_served(watcher),
    )


@attack("Idle connections", stores=(SQLITE,))
def idle_connections(testbed: Testbed) -> Iterator[Finding]:
    """Open more connections than the process may open files, and send nothing."""

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))

    with testbed.serve(prepare=limit_files) as service, ExitStack() as stack:
        service.define()
        with Watcher(service) as watcher:
            for _ in range(IDLE_CONNECTIONS):
                stack.enter_context(connect(service))
            time.sleep(OBSERVATION_S)
        logged = service.count_logged(message="closing one that is idle")
    yield Finding(
        f"{IDLE_CONNECTIONS:,} connections, {OPEN_FILES:,} open files",
        f"others wait at most {MAX_WAIT_S:g} s; logged",
        f"{describe(watcher)}; {logged} log lines",
        is_served(watcher) and logged > 0,
    )


def send_endless_head(testbed: Testbed, start: bytes, part: bytes) -> Iterator[Finding]:
    """Send `start` and then `part` again and again, while another client is served."""
    with testbed.serve() as service:
        service.define()
        sent = 0
        with Watcher(service) as watcher:
            for _ in range(ENDLESS_CONNECTIONS):
                with connect(service) as connection:
                    connection.sendall(start)
                    sent = max(sent, send_until_closed(connection, part))
        logged = service.count_logged(message="Head of a request larger than 65536 bytes")
    yield Finding(
        f"up to {ENDLESS_BYTES >> 20} MiB on each of {ENDLESS_CONNECTIONS} connections",
        f"refused at 64 KiB; others wait at most {MAX_WAIT_S:g} s; logged",
        f"closed after at most {sent >> 10:,} KiB sent; {describe(watcher)}; {logged} log lines",
        sent < MAX_ACCEPTED_BYTES and is_served(watcher) and logged > 0,
    )


@contextmanager
def serve_with_token(testbed: Testbed) -> Iterator[Service]:
    """Run a service that requires a token, with one problem."""
    with testbed.serve() as service:
        service.define()
        service.token = testbed.command("token", "create", "--scope", "admin").stdout.strip()
        wait_until(lambda: service.try_ask("GET", "/v1/problems", headers=NOBODY).status == 401, 10)
        yield service


def send_halves(service: Service, part: bytes, stack: ExitStack) -> list[socket.socket]:
    """Send `part` of a request on many connections, which `stack` closes, and return these."""
    halves = [stack.enter_context(connect(service)) for _ in range(HALF_REQUESTS)]
    for half in halves:
        with suppress(OSError):
            half.sendall(part)
    return halves


def is_served(watcher: Watcher) -> bool:
    """Return whether the client of `watcher` got all responses in time."""
    return watcher.failed == 0 and watcher.answered > 0 and watcher.longest_s <= MAX_WAIT_S


def describe(watcher: Watcher) -> str:
    """Return what the client of `watcher` measured."""
    return f"others waited {watcher.longest_s:.2f} s ({format_statuses(watcher.statuses)})"


def connect(service: Service) -> socket.socket:
    """Return a new connection to `service`."""
    return socket.create_connection(("127.0.0.1", service.port), timeout=60)


def send_until_closed(connection: socket.socket, part: bytes) -> int:
    """Send `part` again and again until the service closes; return the number of bytes sent."""
    sent = 0
    with suppress(ConnectionError):
        while sent < ENDLESS_BYTES:
            connection.sendall(part)
            sent += len(part)
    return sent


def read_all(connection: socket.socket) -> None:
    """Read until the service closes `connection`."""
    with suppress(ConnectionError):
        while connection.recv(65536):
            pass
