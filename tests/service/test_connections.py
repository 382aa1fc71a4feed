"""Limits on connections, with raw sockets against a running server."""

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from belated.cli.serve import build_server, open_listener
from belated.ledger import Ledger
from belated.service.operations.connections import ConnectionLimits
from belated.service.operations.log import LOG_INTERVAL_S, LimitLog
from service.site import wait_until

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


class Service:
    """Server in a thread of this process."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def is_served(self) -> bool:
        """Return whether a new connection gets a response."""
        with self.connect() as other:
            other.sendall(HEAD + b"\r\n")
            return other.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.fixture
def serve(ledger: Ledger) -> Iterator[Callable[..., Any]]:
    """Function that starts a server with the given limits."""

    @contextmanager
    def running(**limits: Any) -> Iterator[Service]:
        with open_listener("127.0.0.1", 0) as listener:
            server = build_server(
                ledger,
                open=True,
                interval=1.0,
                shutdown_timeout_s=1,
                limits=ConnectionLimits(**limits),
            )
            thread = threading.Thread(target=server.run, args=([listener],))
            thread.start()
            try:
                wait_until(lambda: server.started)
                yield Service(listener.getsockname()[1])
            finally:
                server.should_exit = True
                thread.join()

    with ExitStack() as stack:
        yield lambda **limits: stack.enter_context(running(**limits))


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def send_until_refused(connection: socket.socket, part: bytes) -> int:
    """Send `part` again and again until the server closes; return the number of bytes sent."""
    sent = 0
    with suppress(ConnectionError):
        while sent < 64 << 20:
            connection.sendall(part)
            sent += len(part)
    return sent


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (HEAD + b"X-Endless: ", b"x" * 10_000),
        (HEAD, b"X-Many: 1\r\n" * 1000),
        (b"GET /", b"x" * 10_000),
        (HEAD + b"\r\n" + HEAD + b"X-Second-Request: ", b"x" * 10_000),
    ],
    ids=["header", "headers", "url", "second request"],
)
def test_an_endless_head_is_refused(
    serve: Any, caplog: pytest.LogCaptureFixture, start: bytes, part: bytes
) -> None:
    service = serve()
    with service.connect() as connection:
        connection.sendall(start)
        assert send_until_refused(connection, part) < 8 << 20
        assert service.is_served()
    assert "Limit hit: Head of a request larger than 65536 bytes." in caplog.text


@pytest.mark.parametrize(("size", "status"), [(64 << 10, 200), ((64 << 10) + 1, 431)])
def test_the_limit_on_a_head_is_exact(serve: Any, size: int, status: int) -> None:
    service = serve()
    last = HEAD + b"Connection: close\r\nX: "
    with service.connect() as connection:
        connection.sendall(last + b"x" * (size - len(last) - 4) + b"\r\n\r\n")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    if status == 431:
        body = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert body["error"] == "too large"


def test_a_large_body_is_not_part_of_the_head(serve: Any) -> None:
    service = serve()
    with service.connect() as connection:
        body = b" " * 300_000
        for _ in range(2):
            connection.sendall(
                b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )
        connection.sendall(HEAD + b"Connection: close\r\n\r\n")
        statuses = [line for line in read_all(connection).split(b"\r\n") if b"HTTP/1.1" in line]
    assert [line.split()[-2:] for line in statuses[-1:]] == [[b"200", b"OK"]]


@pytest.mark.parametrize(
    ("sent", "limit"),
    [
        (b"", "Head of a request not complete within 0.2 s."),
        (HEAD, "Head of a request not complete within 0.2 s."),
        (
            b"POST /v1/problems HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
            b"Content-Type: application/json\r\n\r\n{",
            "Body of a request not continued within 0.3 s.",
        ),
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_is_not_completed_is_closed(
    serve: Any, caplog: pytest.LogCaptureFixture, sent: bytes, limit: str
) -> None:
    service = serve(head_timeout_s=0.2, body_timeout_s=0.3, keep_alive_s=60)
    with service.connect() as connection:
        connection.sendall(sent)
        answer = read_all(connection)
        assert b"HTTP/1.1 408 Request Timeout" in answer
        assert service.is_served()
    assert limit in caplog.text


def test_blank_lines_do_not_keep_a_connection_open(serve: Any) -> None:
    service = serve(head_timeout_s=0.2, keep_alive_s=600)
    with service.connect() as connection:
        connection.sendall(HEAD + b"\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        connection.sendall(b"\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 408")


def test_idle_connections_do_not_keep_others_out(
    serve: Any, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve(max_connections=20, head_timeout_s=600.0, keep_alive_s=600)
    with ExitStack() as stack:
        idle = [stack.enter_context(service.connect()) for _ in range(60)]
        used = idle[-1]
        assert service.is_served()
        used.sendall(HEAD + b"\r\n")
        assert used.recv(4096).startswith(b"HTTP/1.1 200")
        assert read_all(idle[0]) == b""
    assert "20 connections; closing one that is idle." in caplog.text


def test_too_many_requests_in_progress_get_503(
    serve: Any, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve(max_requests=2)
    begin = b"POST /v1/problems HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    begin += b"Content-Type: application/json\r\n\r\n{"
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(service.connect()).sendall(begin)
        wait_until(lambda: not service.is_served())
        with service.connect() as other:
            other.sendall(HEAD + b"\r\n")
            answer = read_all(other)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1\r\n" in answer
    wait_until(service.is_served)
    assert "2 requests in progress; refusing another one." in caplog.text


def test_a_limit_is_logged_once_in_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = LimitLog(clock=lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            log.hit("max_requests", "too many.")
        log.hit("other", "too large.")
        now[0] = LOG_INTERVAL_S
        log.hit("max_requests", "too many.")
    assert [record.getMessage() for record in caplog.records] == [
        "Limit hit: too many.",
        "Limit hit: too large.",
        "Limit hit: too many. (4 more times since the last line)",
    ]


def test_connections_leave_files_for_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    for soft, expected in ((1024, 896), (100, 50), (1 << 20, 4096), (resource.RLIM_INFINITY, 4096)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, soft=soft: (soft, soft))
        assert ConnectionLimits().restrict_to_open_files().max_connections == expected
